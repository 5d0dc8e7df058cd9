// Normalises an image: out = (in * scale - mean) / std per channel, to f32, f16, bf16 or u8, in the layout
// HWC or CHW, optionally mirrored.
//
// For the operator normalize and for code that fuses it. A u8 input has 256 values per channel, so its result
// is by definition a table (normalize_table); the kernel computes the same bits faster than a table is read.
// Free functions, any thread.
#pragma once
#include <cstddef>
#include <cstdint>

#include "headrace/core/dtype.h"

namespace headrace::kernels {

struct Normalize {
  int64_t height = 1, width = 1, channels = 3;
  const float* mean = nullptr;  // per channel
  const float* std = nullptr;   // per channel
  float scale = 1;
  DType dtype = DType::f32;  // of the output: f32, f16, bf16, or u8 (to nearest even, clamped)
  bool planar = false;       // output CHW instead of HWC
  bool mirrored = false;     // left to right
};

// `in_stride` counts elements from row to row of `in`; `out` is dense.
void normalize(const Normalize& normalize, const uint8_t* in, int64_t in_stride, std::byte* out);
void normalize(const Normalize& normalize, const float* in, int64_t in_stride, std::byte* out);

// Normalises an image that comes row by row, as planes: the bytes of normalize(). REQUIRES: at most four
// channels. Borrows mean and std.
class RowNormalizer {
 public:
  explicit RowNormalizer(const Normalize& normalize);
  // Row `y` of `out`. planes[c] holds the values of channel c in the order of the output: `mirrored` is
  // ignored. Other threads see all of `out` after finish_streaming() (affine.h).
  void row(const uint8_t* const* planes, int64_t y, std::byte* out) const;

 private:
  Normalize normalize_;
  float inverse_[4];
  bool by_inverse_, streams_;
};

// What the 256 values of u8 become in `channel`, as f32. The scalar twin of normalize() looks its results up
// here.
void normalize_table(const Normalize& normalize, int64_t channel, float* table);

}  // namespace headrace::kernels
