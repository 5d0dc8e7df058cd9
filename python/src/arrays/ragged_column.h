// Rows of a ragged batch for Python: `headrace.RaggedColumn`.
#pragma once
#include <nanobind/nanobind.h>

#include "headrace/core/tensor.h"

namespace headrace::python {

namespace nb = nanobind;

// REQUIRES: a ragged tensor whose rows are arrays, not text and not ragged themselves.
nb::object ragged_column(Tensor&& tensor);
void bind_ragged_column(nb::module_& m);

}  // namespace headrace::python
