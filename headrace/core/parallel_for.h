// A loop over indexes on several threads, for work outside a run.
#pragma once
#include <atomic>
#include <cstdint>
#include <system_error>
#include <thread>
#include <vector>

namespace headrace {

// Calls `work(worker, i)` for every i below `count`, in any order, each once; worker is below `workers`.
// Worker 0 is the calling thread, so it may show progress. Ends early, after calls in progress, when `work`
// returns false.
template <class Work> void parallel_for(uint64_t count, size_t workers, const Work& work) {
  std::atomic<uint64_t> next{0};
  const auto loop = [&](size_t worker) {
    for (uint64_t i = next++; i < count; i = next++)
      if (!work(worker, i)) next = count;
  };
  std::vector<std::jthread> threads;
  try {
    for (size_t worker = 1; worker < workers; ++worker) threads.emplace_back(loop, worker);
  } catch (const std::system_error&) {  // the system has no more threads: those there are do the work
  }
  loop(0);
}

}  // namespace headrace
