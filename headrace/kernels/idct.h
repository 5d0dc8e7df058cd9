// The inverse DCT of JPEG in exact integers: libjpeg's accurate one ("islow", 13-bit constants) with the
// widths of libjpeg-turbo's SIMD form, whose bytes it gives.
//
// After Loeffler, Ligtenberg, Moschytz: Practical fast 1-D DCT algorithms with 11 multiplications, ICASSP
// 1989. Free functions on borrowed memory, any thread.
#pragma once
#include <cstddef>
#include <cstdint>

namespace headrace::kernels {

// Two blocks of coefficients are side by side: coefficient (row v, column u) of block b at [16 v + 8 b + u].
// So are two copies of the quantisation table.
inline constexpr int kPairStride = 16, kPairSize = 128;

// Dequantises and transforms both blocks; writes 8 rows of 8 pixels to `out0` and to `out1`, rows `stride`
// bytes apart. `coefficients` and `quant` are aligned to 32 bytes. False when a value is so far outside of
// what an encoder makes that libjpeg-turbo takes a short cut with another result; the pixels are then
// undefined.
bool idct_pair(const int16_t* coefficients, const uint16_t* quant, uint8_t* out0, uint8_t* out1,
               size_t stride);
bool idct_pair_scalar(const int16_t* coefficients, const uint16_t* quant, uint8_t* out0, uint8_t* out1,
                      size_t stride);

// The same for one block whose only coefficient is its first.
bool idct_dc(int coefficient, int quant, uint8_t* out, size_t stride);

// The same pixels in the layout that resampling of planes needs (resample_planes.h): in a strip of kStripRows
// rows, column by column, so that pixel (y, x) of a block is out[kStripRows * x + y], and shifted up by
// kSampleBits.
inline constexpr int kStripRows = 16, kSampleBits = 7;
bool idct_pair_columns(const int16_t* coefficients, const uint16_t* quant, int16_t* out0, int16_t* out1);
bool idct_pair_columns_scalar(const int16_t* coefficients, const uint16_t* quant, int16_t* out0,
                              int16_t* out1);
bool idct_dc_columns(int coefficient, int quant, int16_t* out);

}  // namespace headrace::kernels
