// Who works for a crew, and must not wait for it.
#pragma once
#include <cstdint>
#include <vector>

namespace headrace {

// Of a crew: no other ever has it.
uint64_t next_crew_number();

// This thread works for a crew as long as one of these lives: what is called meanwhile, functions of the
// pipeline and signal handlers, is within it.
class ReentrancyGuard {
 public:
  struct Place {
    uint64_t crew;
    const void* worker;  // which of its own; another thread, where a crew within it works
  };
  using Crews = std::vector<Place>;
  // `around`: those that wait for this one, as whoever began the thread works for them.
  explicit ReentrancyGuard(uint64_t crew, const Crews& around = {});
  ~ReentrancyGuard();
  ReentrancyGuard(const ReentrancyGuard&) = delete;
  ReentrancyGuard& operator=(const ReentrancyGuard&) = delete;

  static bool is_for(uint64_t crew) { return worker_of(crew) != nullptr; }
  // Which of its workers this thread is, or works for; null: none.
  static const void* worker_of(uint64_t crew);
  static const Crews& all();  // of this thread

 private:
  size_t before_;
};

}  // namespace headrace
