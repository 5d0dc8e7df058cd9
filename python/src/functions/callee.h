// A Python function with everything needed to call it for a sample: arrays that it owns, a generator with the
// sample's key, and its results as views.
#pragma once
#include <nanobind/nanobind.h>

#include <span>
#include <string>
#include <vector>

#include "headrace/ops/call_context.h"
#include "python/src/arrays/nest.h"
#include "python/src/arrays/results.h"
#include "python/src/functions/generators.h"

namespace headrace::python {

namespace nb = nanobind;

// REQUIRES: the GIL is held, also for the destructor.
class Callee {
 public:
  // `function(sample)`, or `function(sample, rng=)` if `random`; `convert(result)` returns the list of leaves
  // of a result that does not consist of dicts, tuples, numbers, bytes, str and C-contiguous arrays of the
  // specs `outputs`, or raises.
  Callee(nb::object function, nb::object convert, const std::string& input, const std::string& output,
         std::vector<TensorSpec> outputs, bool random)
      : function_(std::move(function)),
        convert_(std::move(convert)),
        input_(input),
        output_(output),
        outputs_(std::move(outputs)),
        random_(random) {}

  size_t num_results() const { return output_.num_leaves(); }
  // Throws what the function raises, or an error if its result cannot be used.
  void call(std::span<const View> in, const CallContext& call, Results& results);

 private:
  nb::object returned(const nb::object& sample, const Key& key);
  void take(const nb::object& returned, Results& results) const;

  nb::object function_, convert_;
  Nest input_, output_;
  std::vector<TensorSpec> outputs_;
  bool random_;
  Generators generators_;
};

// A call outside any run, to see what the function returns: operators called within draw from a fixed key.
nb::object call_once(const nb::object& call, const nb::object& leaves, const nb::object& key);

// The key for random operators called within a function on this thread; null outside a function.
const Key* next_key_of_function();

}  // namespace headrace::python
