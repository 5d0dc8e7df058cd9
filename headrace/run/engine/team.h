// The workers of a run, each with its own evaluator and counters. They are created when first needed and
// stay, because their counts are part of the report.
#pragma once
#include <deque>
#include <memory>

#include "headrace/run/engine/executor.h"

namespace headrace {

// Common arguments of all workers of a run.
struct Means {
  Pool* pool = nullptr;
  size_t operators = 0, stages = 0;  // numbers of counters
  uint64_t seed = 0;
  bool write_into_slot = true;
  const StopFlag* stop = nullptr;
};

// The state of one worker.
struct Worker {
  explicit Worker(const Means& means)
      : counters(means.operators, means.stages),
        evaluator(means.pool, &counters, means.seed, means.write_into_slot, means.stop) {}
  Counters counters;
  Evaluator evaluator;
};

// Guarded by the executor's mutex; a worker itself belongs to its thread.
class Team {
 public:
  explicit Team(const Means& means) : means_(means) {}

  Worker& member(Duty duty, size_t number) {
    auto& all = of(duty);
    while (all.size() <= number) all.push_back(std::make_unique<Worker>(means_));
    return *all[number];
  }
  template <class F> void each(F&& f) const {
    for (const auto* all : {&cpu_, &io_})
      for (const auto& worker : *all) f(*worker);
  }

 private:
  std::deque<std::unique_ptr<Worker>>& of(Duty duty) { return duty == Duty::io ? io_ : cpu_; }

  const Means means_;
  std::deque<std::unique_ptr<Worker>> cpu_, io_;
};

}  // namespace headrace
