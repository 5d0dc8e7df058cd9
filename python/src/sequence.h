// Anything with a length and items, as a Source: a Python sequence, a map-style dataset of PyTorch.
#pragma once
#include <nanobind/nanobind.h>

#include "headrace/formats/source.h"

namespace headrace::python {

namespace nb = nanobind;

// `items[index]` is a sample with the nesting and specs of `schema`; else `convert(item, index)` makes a list
// of arrays, bytes and str from it, or raises. Both are called with the GIL, from the threads that read.
SourcePtr sequence_source(Schema schema, uint64_t size, std::string slot, nb::object items,
                          nb::object convert);

}  // namespace headrace::python
