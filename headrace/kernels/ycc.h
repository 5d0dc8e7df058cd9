// The last steps of JPEG decoding in libjpeg's integers: chroma to full resolution ("fancy" upsampling, a
// triangle filter) and YCbCr to RGB.
//
// Free functions on borrowed memory, any thread; `out` overlaps no input. Each SIMD kernel has a scalar twin.
#pragma once
#include <cstdint>

namespace headrace::kernels {

// A row of `width` samples becomes 2 * width: each is 3/4 of its own sample and 1/4 of its neighbour. At the
// ends the row's edge is the image's.
void upsample_h2(const uint8_t* in, int64_t width, uint8_t* out);
void upsample_h2_scalar(const uint8_t* in, int64_t width, uint8_t* out);

// The same both ways: 3/4 of the row `near`, 1/4 of the row `far` above or below it.
void upsample_h2v2(const uint8_t* near, const uint8_t* far, int64_t width, uint8_t* out);
void upsample_h2v2_scalar(const uint8_t* near, const uint8_t* far, int64_t width, uint8_t* out);

// Vertically only; `bias` is 1 when `far` lies above and 2 when it lies below.
void upsample_v2(const uint8_t* near, const uint8_t* far, int64_t width, int bias, uint8_t* out);

// ITU-R BT.601 in full range, as JFIF 1.02 has it: `count` pixels of three bytes.
void ycc_to_rgb(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, int64_t count, uint8_t* rgb);
void ycc_to_rgb_scalar(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, int64_t count, uint8_t* rgb);

}  // namespace headrace::kernels
