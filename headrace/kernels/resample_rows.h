// The two passes of a u8 resize, each one SIMD kernel with a scalar twin that gives the same bytes.
//
// For resize.cc. Sums of byte * 23-bit weight must be exact to equal Pillow's, and 16-bit multiply-add is the
// fastest exact multiplier there is: the kernels split each weight into its low 15 bits and the rest, sum
// both halves apart, and join the sums once. Free functions, any thread; memory is the caller's.
#pragma once
#include <cstddef>
#include <cstdint>

#include "headrace/kernels/taps.h"

namespace headrace::kernels {

// Rows of `channels` (1 .. 4) bytes per pixel, `stride` bytes apart. `data` points at row `first_row` of its
// image.
struct ByteRows {
  const uint8_t* data = nullptr;
  int64_t stride = 0, height = 0, width = 0, first_row = 0;
  int channels = 1;
};

// Mix each row of `in` into one row of `out` with `out_width` pixels: taps are columns. `split` is scratch of
// across_scratch_bytes. Reads up to across_read_slack bytes beyond the end of a row of `in`; writes nothing
// beyond a row's.
void resample_across(const ByteRows& in, const Taps<int32_t>& taps, int64_t out_width, uint8_t* out,
                     int64_t out_stride, std::byte* split);
size_t across_scratch_bytes(int64_t out_width, int64_t stride);
int64_t across_read_slack(const ByteRows& in, const Taps<int32_t>& taps, int64_t out_width);

// Mix rows of `in` into each of the `out_height` rows of `out`: taps are row numbers. `split` is scratch of
// down_scratch_bytes. Reads and writes nothing beyond the ends of rows.
void resample_down(const ByteRows& in, const Taps<int32_t>& taps, int64_t out_height, uint8_t* out,
                   int64_t out_stride, std::byte* split);
size_t down_scratch_bytes(int64_t stride);

void resample_across_scalar(const ByteRows& in, const Taps<int32_t>& taps, int64_t out_width, uint8_t* out,
                            int64_t out_stride);
void resample_down_scalar(const ByteRows& in, const Taps<int32_t>& taps, int64_t out_height, uint8_t* out,
                          int64_t out_stride);

}  // namespace headrace::kernels
