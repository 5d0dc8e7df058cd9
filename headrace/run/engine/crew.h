// A Crew drives the Executor. `threads_crew` uses real threads; `callers_crew` only the caller's;
// `virtual_crew` is one thread that picks the next step from a seed, so that any interleaving can be
// reproduced. All call the same Executor.
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
  // The next element, or why there is none. Blocks while work is in progress; returns `wait` after
  // `milliseconds`.
  virtual Pull next(Sample& out, Status& failure, std::optional<uint64_t> milliseconds) = 0;
  // Workers finish, and next() returns `cancelled` from now on. If it was called is_within(), next() does so
  // when all work has ended, or returns the error of the function that asked.
  virtual void ask_to_stop() = 0;
  // The same, and all work has ended when it returns. REQUIRES: not is_within().
  virtual void stop() = 0;

  // Whether this thread is working for it.
  bool is_within() const { return ReentrancyGuard::is_for(number_); }

 protected:
  uint64_t number() const { return number_; }

 private:
  const uint64_t number_ = next_crew_number();
};

class Trace;

// The number of threads follows the settings of `steer`.
std::unique_ptr<Crew> threads_crew(Executor& executor, Team& team, Steer& steer, Trace* trace);

// Work happens only within next(), and no further ahead than the requested element and those made together
// with it. The settings do not change.
std::unique_ptr<Crew> callers_crew(Executor& executor, Team& team, Steer& steer, Trace* trace);

// Deterministic: the schedule is a function of the seed, and so are settings that are not fixed. A state in
// which no worker can proceed while the consumer waits is an internal error with the word "deadlock".
std::unique_ptr<Crew> virtual_crew(Executor& executor, Team& team, Steer& steer, uint64_t seed);

}  // namespace headrace
