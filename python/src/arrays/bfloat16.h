// bf16 in NumPy, which has no such dtype of its own: that of the package ml_dtypes, as JAX and TensorFlow use
// it, where it is installed; else its bits, uint16.
#pragma once
#include <nanobind/nanobind.h>

namespace headrace::python {

namespace nb = nanobind;

// The GIL is held in both.
const nb::object& bf16_dtype();  // a numpy.dtype; looked up when it is first asked for
// The bits of an array or scalar of ml_dtypes, as uint16 that share its memory; nothing for what is neither.
nb::object bits_of_bf16(nb::handle leaf);

}  // namespace headrace::python
