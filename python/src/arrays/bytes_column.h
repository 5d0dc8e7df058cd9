// A batch's field of bytes for Python: a sequence that creates a `bytes` per row on access.
#pragma once
#include <nanobind/nanobind.h>

#include "headrace/core/tensor.h"

namespace headrace::python {

namespace nb = nanobind;

// REQUIRES: a ragged tensor whose rows are bytes, not batches of bytes.
nb::object bytes_column(const Tensor& tensor);
bool is_bytes_column(nb::handle object);

void bind_bytes_column(nb::module_& m);

}  // namespace headrace::python
