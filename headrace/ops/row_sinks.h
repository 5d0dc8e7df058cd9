// Where the rows of a resampled picture go: straight to their place in the output, as pixels or normalised.
// For ops/decode_resampled.cc; the contract of sinks is in codecs/resampled.h.
#pragma once
#include <optional>

#include "headrace/codecs/resampled.h"
#include "headrace/kernels/normalize.h"
#include "headrace/kernels/planes.h"

namespace headrace {

// u8 (H, W, C).
class PixelSink final : public RowSink {
 public:
  PixelSink(int64_t width, int64_t channels, uint8_t* out) : width_(width), channels_(channels), out_(out) {}
  void take(int64_t y, const uint8_t* const* planes) override {
    kernels::from_planes(planes, width_, channels_, out_ + y * width_ * channels_);
  }

 private:
  int64_t width_, channels_;
  uint8_t* out_;
};

// The bytes of kernels::normalize over the same pixels.
class NormalizingSink final : public RowSink {
 public:
  NormalizingSink(const kernels::Normalize& normalize, std::byte* out) : normalizer_(normalize), out_(out) {}
  void take(int64_t y, const uint8_t* const* planes) override { normalizer_.row(planes, y, out_); }

 private:
  kernels::RowNormalizer normalizer_;
  std::byte* out_;
};

}  // namespace headrace
