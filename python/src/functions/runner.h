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

// The results of a function; the views are valid as long as this object.
class Answer {
 public:
  virtual ~Answer() = default;
  std::vector<View> views;
};

class Runner {
 public:
  virtual ~Runner() = default;
  // Called without the GIL, or with it while hold() is held.
  virtual Result<std::unique_ptr<Answer>> call(std::span<const View> in, const std::string& label,
                                               CallContext& call) = 0;
  virtual std::shared_ptr<const void> hold() const { return nullptr; }
};

// Runs in this process, with the GIL.
std::shared_ptr<Runner> in_threads(std::shared_ptr<Callee> callee);
// Runs in other processes, each with its own interpreter: as many as threads call concurrently, started when
// first needed and ended with the runner. `start() -> (process, socket descriptor, shared memory descriptor)`
// is headrace._processes.Starter; called with the GIL.
std::shared_ptr<Runner> in_processes(nb::object start);
// Limits the runner to `calls` concurrent calls.
std::shared_ptr<Runner> bounded(std::shared_ptr<Runner> runner, uint32_t calls);

// Calls in other processes, made by any loader: whether there are any, and killing their processes. Without
// the GIL; for a run that waits for them when the user interrupts it.
bool has_calls_elsewhere();
void end_calls_elsewhere();

// The main loop of such a process: answer calls until the socket closes. `describe(exception)` serialises an
// exception.
void serve_calls(int socket, int memory, Callee& callee, const nb::object& describe);

}  // namespace headrace::python
