// Converts numbers of one dtype to another.
//
// Values in range are converted as by NumPy's astype: fractions are truncated towards zero, f16 and bf16
// round to nearest even, bool is "not zero". Values outside the range of an integer dtype become its nearest
// bound (NumPy wraps around or leaves it to the CPU, so there is nothing to match), NaN becomes 0. Free
// function, any thread.
#pragma once
#include <cstddef>
#include <cstdint>

#include "headrace/core/dtype.h"

namespace headrace::kernels {

// REQUIRES: both dtypes numeric, not bytes or str; `in` and `out` do not overlap.
void cast(DType from, const std::byte* in, int64_t count, DType to, std::byte* out);

}  // namespace headrace::kernels
