// The two passes of a u8 resize for windows of at most two pixels, as in bilinear where the filter is not
// widened and in box at half size: the same bytes as resample_rows.h, in 16-bit arithmetic.
//
// For resize.cc. For two weights whose sum is one, a * w + b * (1 - w) is b + (a - b) * w: one product, whose
// high and low half fit into 16 bits. Free functions, any thread; memory is the caller's.
#pragma once
#include <cstddef>
#include <cstdint>

#include "headrace/kernels/taps.h"

namespace headrace::kernels {

// Whether all windows hold at most two pixels, with weights whose sum is exactly one.
bool are_pairs(const Taps<int32_t>& taps, int64_t out);

// One or more output pixels, as many as are made from 16 bytes and fill 16 bytes as 16-bit numbers.
struct PairBlock {
  uint8_t first[16], second[16];  // byte shuffles, from 16 bytes at `offset` to both pixels of each window
  int16_t high[8], low[8];        // first pixel's weight: high * 2^16 + low
};
struct PairPlan {
  const PairBlock* blocks = nullptr;
  const int32_t* offsets = nullptr;        // of each block, in bytes from the start of the row
  int64_t block_bytes = 0, out_bytes = 0;  // of output: in each block, in a row
  Taps<int32_t> taps;
  int64_t out_width = 0;
  int channels = 1;
  bool halves = false;  // one channel to half its width: only the taps are used
};

inline constexpr int64_t kLeastPairRow = 16;  // bytes of an input row

// REQUIRES: are_pairs, and rows of at least kLeastPairRow bytes. `memory` has pair_plan_bytes, aligned to 64.
PairPlan plan_pairs(const Taps<int32_t>& taps, int64_t in_width, int64_t out_width, int channels,
                    std::byte* memory);
size_t pair_plan_bytes(int64_t out_width);

// Mixes each of `count` rows into a row of `out`. Reads and writes nothing beyond the ends of rows.
void pairs_across(const PairPlan& plan, const uint8_t* const* rows, int64_t count, uint8_t* out,
                  int64_t out_stride);

// Mixes two rows of `size` bytes; `weight` is the first one's.
void pairs_down(const uint8_t* first, const uint8_t* second, int32_t weight, uint8_t* out, int64_t size);

}  // namespace headrace::kernels
