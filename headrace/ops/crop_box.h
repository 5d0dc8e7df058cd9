// The window of random_resized_crop, drawn here so that every kernel that crops draws the same. Free
// functions, any thread.
#pragma once
#include <array>
#include <cstdint>

#include "headrace/core/box.h"
#include "headrace/core/random/key.h"

namespace headrace {

// Share of the image's area, drawn uniformly; width / height, drawn uniformly in its logarithm. REQUIRES: 0 <
// first <= second.
struct CropRange {
  std::array<double, 2> scale{0.08, 1.0}, ratio{3.0 / 4.0, 4.0 / 3.0};
};

// torchvision's rule: up to ten draws of area and shape until a window fits, then a uniform position for it;
// when none fits, the largest centred window with an allowed ratio. Try t uses the words 4t .. 4t + 3 of the
// key: area, ratio, y, x. REQUIRES: height and width from 1 to 2^31.
Box sample_crop_box(int64_t height, int64_t width, const CropRange& range, const Key& key);

}  // namespace headrace
