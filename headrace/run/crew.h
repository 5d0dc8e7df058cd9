// Who turns the executor's crank. `threads_crew` uses real threads; `virtual_crew` is one thread that picks
// the next step from a seed, so that any interleaving can be had again. Both call the same Executor.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "headrace/run/executor.h"

namespace headrace {

// One worker's own things.
struct Worker {
  Worker(Pool* pool, size_t operators, uint64_t seed, bool write_into_slot, const StopFlag* stop = nullptr)
      : counters(operators), evaluator(pool, &counters, seed, write_into_slot, stop) {}
  Counters counters;
  Evaluator evaluator;
};

class Crew {
 public:
  virtual ~Crew() = default;  // stops and joins
  // The next element, or why there is none. Blocks while work is under way; `wait` when so many
  // milliseconds have passed first.
  virtual Pull next(Sample& out, Status& failure, std::optional<uint64_t> milliseconds) = 0;
  virtual void stop() = 0;                 // nobody works when it returns; next() then answers `cancelled`
  virtual uint64_t waited_ns() const = 0;  // how long the consumer waited so far
};

class Trace;

std::unique_ptr<Crew> threads_crew(Executor& executor, std::vector<Worker*> io, std::vector<Worker*> cpu,
                                   Trace* trace);

// Deterministic: the schedule is a function of the seed. A state in which nobody can move while the consumer
// waits is an internal error that says "deadlock".
std::unique_ptr<Crew> virtual_crew(Executor& executor, std::vector<Worker*> io, std::vector<Worker*> cpu,
                                   uint64_t seed);

}  // namespace headrace
