// The windows and weights of one axis of a plane that is resampled (resample_planes.h): those of a plain
// resize (taps.h) around centres that may be within a sample, with weights of 14 bits. Equal on every target.
// Free functions on borrowed memory, any thread.
#pragma once
#include <cstddef>
#include <cstdint>

#include "headrace/kernels/taps.h"

namespace headrace::kernels {

// The filters that planes are resampled with.
constexpr bool is_for_planes(Interpolation interpolation) {
  return interpolation == Interpolation::bilinear || interpolation == Interpolation::bicubic;
}

// One axis of a plane: `size` samples from `begin` on (chroma may begin within a sample) are spread over
// `grid` outputs, of which those from `first` on are needed. Samples outside of low .. high count for
// nothing. REQUIRES: low < high, size > 0, not nearest.
struct PlaneAxis {
  double begin = 0, size = 1;
  int64_t low = 0, high = 1;
  int64_t grid = 1, first = 0, count = 1;
  bool reversed = false;  // the last output comes first
  Interpolation interpolation = Interpolation::bilinear;
  bool antialias = true;
};

// Output i is made of `window` samples from first[i] on, all within the samples that count when there are
// that many; otherwise the weights of those beyond are zero.
struct PlaneTaps {
  const int32_t* first = nullptr;    // to a multiple of eight, the last one repeated; so are the weights
  const int32_t* weights = nullptr;  // [i * window + k]; both halves hold the weight
  int64_t count = 0;
  int32_t window = 1;
  // Whether windows of this axis may be longer than kMostProducts, wherever on the grid: that decides how
  // they are summed, so that an output does not depend on which others are needed.
  bool is_long = false;

  const int32_t* weights_of(int64_t i) const { return weights + i * window; }
};

inline constexpr int32_t kMostProducts = 8;

size_t plane_taps_bytes(const PlaneAxis& axis);
PlaneTaps plane_taps(const PlaneAxis& axis, std::byte* memory);  // `memory` is aligned to 8 bytes
PlaneTaps plane_taps_scalar(const PlaneAxis& axis, std::byte* memory);

}  // namespace headrace::kernels
