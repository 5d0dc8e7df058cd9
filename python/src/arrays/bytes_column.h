// A batch's field of bytes as Python sees it: a sequence that makes a `bytes` when it is asked for one.
#pragma once
#include <nanobind/nanobind.h>

#include "headrace/core/tensor.h"

namespace headrace::python {

namespace nb = nanobind;

// REQUIRES: a ragged tensor whose rows are bytes, and not batches of them.
nb::object bytes_column(const Tensor& tensor);
bool is_bytes_column(nb::handle object);

void bind_bytes_column(nb::module_& m);

}  // namespace headrace::python
