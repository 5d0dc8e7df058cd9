// bfloat16 in NumPy, which has no such dtype: that of the package ml_dtypes (used by JAX and TensorFlow) if
// it is installed, else the bits as uint16.
#pragma once
#include <nanobind/nanobind.h>

namespace headrace::python {

namespace nb = nanobind;

// REQUIRES: the GIL is held.
const nb::object& bf16_dtype();  // a numpy.dtype; looked up on first use
// The bits of an ml_dtypes array or scalar, as uint16 sharing its memory; invalid for anything else.
nb::object bits_of_bf16(nb::handle leaf);

}  // namespace headrace::python
