// The parameters of normalize, for operators that write normalised pixels themselves
// (ops/decode_resampled.h).
#pragma once
#include <array>
#include <optional>

#include "headrace/kernels/normalize.h"
#include "headrace/ops/op.h"

namespace headrace {

struct Normalization {
  std::array<float, 4> mean{}, std{};  // per channel, for images of up to four
  float scale = 1;
  DType dtype = DType::f32;
  bool planar = false;  // CHW

  kernels::Normalize kernel(const Shape& image) const {  // of an image (H, W, C); borrows mean and std
    return {image[0], image[1], image[2], mean.data(), std.data(), scale, dtype, planar, false};
  }
};

// How `op` treats a uint8 image when it is normalize; nothing otherwise.
std::optional<Normalization> normalization_of_u8(const AnyOp& op);

}  // namespace headrace
