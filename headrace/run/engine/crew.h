// Who turns the executor's crank. `threads_crew` uses real threads; `callers_crew` the caller's alone;
// `virtual_crew` is one thread that picks the next step from a seed, so that any interleaving can be had
// again. All call the same Executor.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "headrace/run/engine/steer.h"
#include "headrace/run/measure/reentrancy_guard.h"

namespace headrace {

class Crew {
 public:
  virtual ~Crew() = default;  // stops and joins
  // The next element, or why there is none. Blocks while work is under way; `wait` when so many
  // milliseconds have passed first.
  virtual Pull next(Sample& out, Status& failure, std::optional<uint64_t> milliseconds) = 0;
  // Whoever works comes to an end, and next() answers `cancelled` from now on. Where it is_within(), next()
  // does so when nobody works any more, or says what failed in the function that asked.
  virtual void ask_to_stop() = 0;
  // The same, and nobody works when it returns. REQUIRES: not is_within().
  virtual void stop() = 0;

  // Whether this thread works for it.
  bool is_within() const { return ReentrancyGuard::is_for(number_); }

 protected:
  uint64_t number() const { return number_; }

 private:
  const uint64_t number_ = next_crew_number();
};

class Trace;

// As many as `steer` says, at any moment.
std::unique_ptr<Crew> threads_crew(Executor& executor, Team& team, Steer& steer, Trace* trace);

// Nobody works but within next(), and no further ahead than the element that is asked for, and those that are
// made with it. The settings stay as they are.
std::unique_ptr<Crew> callers_crew(Executor& executor, Team& team, Steer& steer, Trace* trace);

// Deterministic: the schedule is a function of the seed, and so are the settings where they are not fixed. A
// state in which nobody can move while the consumer waits is an internal error that says "deadlock".
std::unique_ptr<Crew> virtual_crew(Executor& executor, Team& team, Steer& steer, uint64_t seed);

}  // namespace headrace
