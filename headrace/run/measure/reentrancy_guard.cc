#include "headrace/run/measure/reentrancy_guard.h"

#include <algorithm>
#include <atomic>

namespace headrace {
namespace {

thread_local ReentrancyGuard::Crews works_for;

}  // namespace

uint64_t next_crew_number() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

ReentrancyGuard::ReentrancyGuard(uint64_t crew, const Crews& around) : before_(works_for.size()) {
  works_for.insert(works_for.end(), around.begin(), around.end());
  works_for.push_back({crew, &works_for});
}

ReentrancyGuard::~ReentrancyGuard() { works_for.resize(before_); }

const void* ReentrancyGuard::worker_of(uint64_t crew) {
  const auto found = std::ranges::find(works_for, crew, &Place::crew);
  return found != works_for.end() ? found->worker : nullptr;
}

const ReentrancyGuard::Crews& ReentrancyGuard::all() { return works_for; }

}  // namespace headrace
