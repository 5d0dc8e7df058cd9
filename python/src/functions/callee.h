// A Python function with all that it takes to call it for a sample: arrays that are its own, a generator with
// the sample's key, and its results as views.
#pragma once
#include <nanobind/nanobind.h>

#include <span>
#include <string>

#include "headrace/core/random/key.h"
#include "python/src/arrays/nest.h"
#include "python/src/arrays/results.h"
#include "python/src/functions/generators.h"

namespace headrace::python {

namespace nb = nanobind;

// The GIL is held in all of these, the destructor too.
class Callee {
 public:
  // `function(sample)`, or `function(sample, rng=)` when `random`; `convert(result)` gives the list of leaves
  // of a result that is not made of dicts, tuples, numbers, bytes, str and arrays in C order, or raises.
  Callee(nb::object function, nb::object convert, const std::string& input, const std::string& output,
         bool random)
      : function_(std::move(function)),
        convert_(std::move(convert)),
        input_(input),
        output_(output),
        random_(random) {}

  size_t num_results() const { return output_.num_leaves(); }
  // Throws what the function raises, and what says that its result cannot be used.
  void call(std::span<const View> in, const Key& key, Results& results);

 private:
  nb::object returned(const nb::object& sample, const Key& key);
  void take(const nb::object& returned, Results& results) const;

  nb::object function_, convert_;
  Nest input_, output_;
  bool random_;
  Generators generators_;
};

// A call outside of any run, to see what the function returns: operators within draw from some key.
nb::object call_once(const nb::object& call, const nb::object& leaves, const nb::object& key);

// The key that random operators draw from when they are called within a function, on this thread; null
// outside of one.
const Key* next_key_of_function();

}  // namespace headrace::python
