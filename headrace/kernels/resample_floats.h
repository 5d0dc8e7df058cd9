// The two passes of an f32 resize, each one SIMD kernel with a scalar twin that gives the same bits: an
// output is the sum of its products in the order of its taps, each product and sum rounded to f32.
//
// For resize.cc. Free functions, any thread; memory is the caller's. Nothing beyond the ends of rows is read
// or written.
#pragma once
#include <cstddef>
#include <cstdint>

#include "headrace/kernels/taps.h"

namespace headrace::kernels {

// Rows of `channels` floats per pixel, `stride` floats apart. `data` points at row `first_row` of its image.
struct FloatRows {
  const float* data = nullptr;
  int64_t stride = 0, height = 0, width = 0, first_row = 0;
  int channels = 1;
};

// Mix each row of `in` into one row of `out` with `out_width` pixels: taps are columns. `strip` is scratch of
// across_strip_bytes, aligned to 64 bytes.
void resample_across(const FloatRows& in, const Taps<float>& taps, int64_t out_width, float* out,
                     int64_t out_stride, std::byte* strip);
size_t across_strip_bytes(int64_t in_width, int channels);

// Mix rows of `in` into each of the `out_height` rows of `out`: taps are row numbers.
void resample_down(const FloatRows& in, const Taps<float>& taps, int64_t out_height, float* out,
                   int64_t out_stride);

void resample_across_scalar(const FloatRows& in, const Taps<float>& taps, int64_t out_width, float* out,
                            int64_t out_stride);
void resample_down_scalar(const FloatRows& in, const Taps<float>& taps, int64_t out_height, float* out,
                          int64_t out_stride);

}  // namespace headrace::kernels
