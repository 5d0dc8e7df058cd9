// Where a Python function runs: in this process, or in others.
#pragma once
#include <nanobind/nanobind.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headrace/core/status.h"
#include "python/src/functions/callee.h"

namespace headrace::python {

// What a function returned; the views are good for as long as it lives.
class Answer {
 public:
  virtual ~Answer() = default;
  std::vector<View> views;
  // The thread that held it ends: it may be deleted without the GIL, or stays behind.
  virtual void abandon() {}
};

class Runner {
 public:
  virtual ~Runner() = default;
  // Called without the GIL, or with it while hold() is held.
  virtual Result<std::unique_ptr<Answer>> call(std::span<const View> in, const Key& key,
                                               const std::string& label) = 0;
  virtual std::shared_ptr<const void> hold() const { return nullptr; }
};

// In this process, with the GIL.
std::shared_ptr<Runner> in_threads(std::shared_ptr<Callee> callee);
// In processes, each with an interpreter of its own: as many as threads call at once, begun when they are
// first needed and ended with the runner. `start() -> (process, descriptor of a socket, descriptor of shared
// memory)` is headrace._processes.Starter; called with the GIL.
std::shared_ptr<Runner> in_processes(nb::object start);
// At most so many of its calls at once.
std::shared_ptr<Runner> bounded(std::shared_ptr<Runner> runner, uint32_t calls);

// Of calls in other processes, whichever loader made them: whether there are any, and an end to them, with
// their processes. Without the GIL; for a run that the user interrupts and that waits for them.
bool has_calls_elsewhere();
void end_calls_elsewhere();

// What such a process does: answer calls until the socket ends. `describe(exception)` makes bytes of it.
void serve_calls(int socket, int memory, Callee& callee, const nb::object& describe);

}  // namespace headrace::python
