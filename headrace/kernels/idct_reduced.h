// The inverse DCT of JPEG at a half, a quarter or an eighth of the resolution: each sample is the mean of the
// 2 x 2, 4 x 4 or 8 x 8 pixels that it covers, computed from the coefficients without those pixels.
//
// 16 bits wide throughout, which is a definition, equal on every target: with product(a, w) = (a * w + 2^14)
// >> 15 and sums that saturate, dequantised coefficients with 4 fraction bits become rows of samples with 5,
// and those become columns with 6. A sample is off by a tenth at most. Free functions on borrowed memory, any
// thread.
#pragma once
#include <cstddef>
#include <cstdint>

#include "headrace/kernels/idct.h"

namespace headrace::kernels {

// Two blocks, laid out as in idct.h, to `side` x `side` samples each, in strips as written by
// idct_pair_columns: sample (y, x) is out[kStripRows * x + y], with kSampleBits fraction bits. Coefficients
// beyond what an encoder makes wrap around. REQUIRES: side is 4, 2 or 1.
void idct_pair_reduced(int side, const int16_t* coefficients, const uint16_t* quant, int16_t* out0,
                       int16_t* out1);
void idct_pair_reduced_scalar(int side, const int16_t* coefficients, const uint16_t* quant, int16_t* out0,
                              int16_t* out1);

// The same for one block whose only coefficient is its first.
void idct_dc_reduced(int side, int coefficient, int quant, int16_t* out);

}  // namespace headrace::kernels
