// A Python function as an operator of a graph.
//
// The engine knows nothing of Python: here the views of a sample become arrays that belong to the function
// (copies, because the engine uses its memory again), and what the function returned is checked and copied to
// where the engine wants it.
#pragma once
#include <nanobind/nanobind.h>

#include "headrace/ops/op.h"
#include "python/src/functions/runner.h"

namespace headrace::python {

inline constexpr std::string_view kFunctionOp = "python_function";

struct FunctionInfo {
  std::string slot;           // its name in saved plans: "map_0"
  std::string label;          // for people: "augment"
  std::string input, output;  // structures of what it gets and returns, as in Schema
  std::vector<TensorSpec> outputs;
  bool random = false;        // it wants a generator
  bool pure = false;          // it answers the same whenever it is called for a sample
  bool processes = false;     // it runs in processes of its own
  uint32_t num_parallel = 0;  // calls of it at once; 0: as many as there are workers
};

OpPtr function_op(FunctionInfo info, std::shared_ptr<Runner> runner);
// Calls at once, as a user or a plan gives them; 0: no bound. Throws for what is too few or too many.
uint32_t num_parallel_from(int64_t calls);

}  // namespace headrace::python
