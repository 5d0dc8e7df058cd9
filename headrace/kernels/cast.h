// Turn numbers of one dtype into another.
//
// What fits is what NumPy's astype gives: fractions are cut off towards zero, f16 and bf16 round to nearest
// even, bool is "not zero". What does not fit an integer dtype becomes its nearest end (NumPy wraps round or
// leaves it to the CPU, so there is nothing to equal), NaN becomes 0. Free function, any thread.
#pragma once
#include <cstddef>
#include <cstdint>

#include "headrace/core/dtype.h"

namespace headrace::kernels {

// REQUIRES: both dtypes numeric, not bytes or str; `in` and `out` do not overlap.
void cast(DType from, const std::byte* in, int64_t count, DType to, std::byte* out);

}  // namespace headrace::kernels
