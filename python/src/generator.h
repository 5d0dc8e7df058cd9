// A Python iterable as a Generator. Each pass is one of its iterators.
#pragma once
#include <nanobind/nanobind.h>

#include <string>

#include "headrace/formats/generator.h"
#include "python/src/arrays/tensors.h"

namespace headrace::python {

// `start(epoch)` returns a headrace._generator.Pass.
GeneratorPtr make_generator(Schema schema, std::string slot, std::string label, nb::object start);

}  // namespace headrace::python
