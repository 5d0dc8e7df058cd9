// Anything with a length and items, as a Source: a Python sequence, a map-style dataset of PyTorch.
#pragma once
#include <nanobind/nanobind.h>

#include "headrace/formats/source.h"

namespace headrace::python {

namespace nb = nanobind;

// `item(index) -> leaves` gives a sample as a list of arrays, bytes and str, with the specs of `schema`. It
// is called with the GIL, from the threads that read.
SourcePtr sequence_source(Schema schema, uint64_t size, std::string slot, nb::object item);

}  // namespace headrace::python
