// A Python iterable as a Generator. Each pass is one of its iterators; the GIL is taken once a sample.
#pragma once
#include <nanobind/nanobind.h>

#include <string>

#include "headrace/formats/generator.h"
#include "tensors.h"

namespace headrace::python {

// `start(epoch)` gives an object with next() -> leaves or None, tell() -> str or None, seek(str) and
// will_replay(count).
GeneratorPtr make_generator(Schema schema, std::string slot, std::string label, nb::object start);

}  // namespace headrace::python
