// A Python function as an operator of a graph.
//
// The engine does not depend on Python: here the views of a sample become arrays owned by the function
// (copies, because the engine reuses its memory), and the function's results are checked and copied into the
// engine's memory.
#pragma once
#include <nanobind/nanobind.h>

#include "headrace/ops/op.h"
#include "python/src/functions/runner.h"

namespace headrace::python {

inline constexpr std::string_view kFunctionOp = "python_function";

struct FunctionInfo {
  std::string slot;           // its name in saved plans: "map_0"
  std::string label;          // for messages: "augment"
  std::string input, output;  // structures of its argument and result, as in Schema
  std::vector<TensorSpec> outputs;
  bool random = false;        // it takes a generator
  bool pure = false;          // it always returns the same result for a sample
  bool processes = false;     // it runs in other processes
  uint32_t num_parallel = 0;  // concurrent calls; 0: as many as there are workers
};

OpPtr function_op(FunctionInfo info, std::shared_ptr<Runner> runner);
// The number of concurrent calls, from a user or a plan; 0: no limit. Throws if it is out of range.
uint32_t num_parallel_from(int64_t calls);

}  // namespace headrace::python
