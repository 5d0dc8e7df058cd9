// A Python function as an operator of a graph.
//
// The engine knows nothing of Python: here the views of a sample become arrays that belong to the function
// (copies, because the engine uses its memory again), and what the function returned is checked and copied to
// where the engine wants it. The GIL is taken once a call.
#pragma once
#include <nanobind/nanobind.h>

#include "headrace/ops/op.h"
#include "tensors.h"

namespace headrace::python {

inline constexpr std::string_view kFunctionOp = "python_function";

struct FunctionInfo {
  std::string slot;           // its name in saved plans: "map_0"
  std::string label;          // for people: "augment"
  std::string input, output;  // structures of what it gets and returns, as in Schema
  std::vector<TensorSpec> outputs;
  bool random = false;  // it wants a generator
};

// `call(leaves, words) -> leaves`: lists of arrays, bytes and str; `words` are four random words when
// `random`, else None.
OpPtr function_op(FunctionInfo info, nb::object call);
// What params() of such an operator says.
FunctionInfo function_info(const Value& params);

// A call outside of any run, to see what the function returns: operators within draw from some key.
nb::object call_once(const nb::object& call, const nb::object& leaves, const nb::object& words);

// The key that random operators draw from when they are called within a function, on this thread; null
// outside of one.
const Key* next_key_of_function();

}  // namespace headrace::python
