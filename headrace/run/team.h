// The workers of a run, each with what is its own. They are made when they are first needed and stay, for
// what they counted is part of the report.
#pragma once
#include <deque>
#include <functional>
#include <memory>

#include "headrace/run/executor.h"

namespace headrace {

// One worker's own things.
struct Worker {
  Worker(Pool* pool, size_t operators, size_t stages, uint64_t seed, bool write_into_slot,
         const StopFlag* stop = nullptr)
      : counters(operators, stages), evaluator(pool, &counters, seed, write_into_slot, stop) {}
  Counters counters;
  Evaluator evaluator;
};

// Guarded by the executor's mutex; a worker itself belongs to its thread.
class Team {
 public:
  explicit Team(std::function<std::unique_ptr<Worker>()> make) : make_(std::move(make)) {}

  Worker& member(Duty duty, size_t number) {
    auto& all = of(duty);
    while (all.size() <= number) all.push_back(make_());
    return *all[number];
  }
  template <class F> void each(F&& f) const {
    for (const auto* all : {&cpu_, &io_})
      for (const auto& worker : *all) f(*worker);
  }

 private:
  std::deque<std::unique_ptr<Worker>>& of(Duty duty) { return duty == Duty::io ? io_ : cpu_; }

  std::function<std::unique_ptr<Worker>()> make_;
  std::deque<std::unique_ptr<Worker>> cpu_, io_;
};

}  // namespace headrace
