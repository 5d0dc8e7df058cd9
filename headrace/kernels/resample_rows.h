// The two passes of a u8 resize, each one SIMD kernel with a scalar twin that gives the same bytes.
//
// For resize.cc. Sums of byte * 23-bit weight must be exact to equal Pillow's, and 16-bit multiply-add is the
// fastest exact multiplier there is: the kernels split each weight into its low 15 bits and the rest, sum
// both halves separately, and combine the sums once. Free functions, any thread; memory is the caller's.
#pragma once
#include <cstddef>
#include <cstdint>

#include "headrace/kernels/taps.h"

namespace headrace::kernels {

// Windows and weights of a pass across, in the form that its vectors need.
struct AcrossPlan {
  const int32_t* offsets = nullptr;  // of each pixel's window, in bytes from the start of the row
  const int32_t* words = nullptr;    // [pixel][group of four taps][low 01, low 23, high 01, high 23]
  int64_t groups = 0;
  Taps<int32_t> taps;
  int64_t out_width = 0;
  int channels = 1;
};
AcrossPlan plan_across(const Taps<int32_t>& taps, int64_t out_width, int channels, std::byte* memory);
size_t across_plan_bytes(int64_t out_width, int64_t stride);
// Up to how many bytes beyond the end of a row the pass reads.
int64_t across_read_slack(const Taps<int32_t>& taps, int64_t in_width, int64_t out_width, int channels);

// Mixes each of `count` rows into a row of `out`. Writes nothing beyond a row's end.
void resample_across(const AcrossPlan& plan, const uint8_t* const* rows, int64_t count, uint8_t* out,
                     int64_t out_stride);

// Mixes `count` rows of `size` bytes into one. Reads and writes nothing beyond the ends of rows. `rows` has
// room for one more, and `words` for as many numbers; both are overwritten.
void resample_down(const uint8_t** rows, const int32_t* weights, int32_t count, uint8_t* out, int64_t size,
                   int32_t* words);

// The scalar twins: same bytes, one at a time.
void resample_across_scalar(const uint8_t* const* rows, int64_t count, int channels,
                            const Taps<int32_t>& taps, int64_t out_width, uint8_t* out, int64_t out_stride);
void resample_down_scalar(const uint8_t* const* rows, const int32_t* weights, int32_t count, uint8_t* out,
                          int64_t size);

}  // namespace headrace::kernels
