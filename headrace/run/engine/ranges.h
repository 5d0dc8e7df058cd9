// Ranges on a profiler's timeline: what each thread of a run does, while a tool that speaks NVTX looks on.
//
// A tool is there when the environment names it (NVTX_INJECTION64_PATH; Nsight Systems and others set it for
// the programs they start). It is loaded once, before the first crew begins; Headrace depends on no library
// of NVTX. Without a tool a range costs one relaxed load and a branch. For any thread.
#pragma once
#include <atomic>
#include <cstdint>

namespace headrace {

struct Work;

// Find the tool, if it was not looked for yet. A crew does it before it begins threads.
void look_for_profiler();

class Range {
 public:
  // A part's reading, the operators on its samples, or the end of its ticket; its payload is the ticket's
  // number.
  explicit Range(const Work& work) {
    if (is_watched.load(std::memory_order_relaxed)) begin(work);
  }
  // What the consumer waits, without its payload.
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

  static std::atomic<bool> is_watched;  // set once, before the threads that look at it begin
  bool begun_ = false;
};

}  // namespace headrace
