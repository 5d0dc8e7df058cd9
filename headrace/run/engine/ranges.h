// Ranges on a profiler's timeline: what each thread of a run does, for tools that support NVTX.
//
// The environment names the tool (NVTX_INJECTION64_PATH; Nsight Systems and others set it for the programs
// they start). It is loaded once, before the first crew begins; Headrace does not link to an NVTX library.
// Without a tool a range costs one relaxed load and a branch. For any thread.
#pragma once
#include <atomic>
#include <cstdint>

namespace headrace {

struct Work;

// Finds the tool, on the first call. A crew calls it before it starts threads.
void look_for_profiler();

class Range {
 public:
  // The read of a part, the operators on its samples, or the end of its ticket; the payload is the ticket's
  // number.
  explicit Range(const Work& work) {
    if (is_watched.load(std::memory_order_relaxed)) begin(work);
  }
  // The consumer's wait, without a payload.
  struct Next {};
  explicit Range(Next) {
    if (is_watched.load(std::memory_order_relaxed)) begin_next();
  }
  ~Range() {
    if (begun_) end();
  }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

 private:
  friend void look_for_profiler();
  void begin(const Work& work);
  void begin_next();
  static void end();

  static std::atomic<bool> is_watched;  // set once, before the threads that read it start
  bool begun_ = false;
};

}  // namespace headrace
