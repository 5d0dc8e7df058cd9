// Which threads work for a crew, and therefore must not wait for it.
#pragma once
#include <cstdint>
#include <vector>

namespace headrace {

// A unique number for a crew.
uint64_t next_crew_number();

// This thread works for a crew during the lifetime of a guard: functions of the pipeline and signal handlers
// that are called in that time are within the crew.
class ReentrancyGuard {
 public:
  struct Place {
    uint64_t crew;
    const void* worker;  // the worker of that crew; possibly of another thread, if crews are nested
  };
  using Crews = std::vector<Place>;
  // `around`: crews that wait for this one, because the thread that started this thread works for them.
  explicit ReentrancyGuard(uint64_t crew, const Crews& around = {});
  ~ReentrancyGuard();
  ReentrancyGuard(const ReentrancyGuard&) = delete;
  ReentrancyGuard& operator=(const ReentrancyGuard&) = delete;

  static bool is_for(uint64_t crew) { return worker_of(crew) != nullptr; }
  // The worker of the crew that this thread is, or works for; null: none.
  static const void* worker_of(uint64_t crew);
  static const Crews& all();  // of this thread

 private:
  size_t before_;
};

}  // namespace headrace
