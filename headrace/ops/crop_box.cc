#include "headrace/ops/crop_box.h"

#include <algorithm>
#include <cmath>

namespace headrace {
namespace {

double between(double low, double high, float uniform) {
  return low + (high - low) * static_cast<double>(uniform);
}

int64_t round_half_even(double x) { return static_cast<int64_t>(std::nearbyint(x)); }

Box centred(int64_t height, int64_t width, const CropRange& range) {
  const double ratio = static_cast<double>(width) / static_cast<double>(height);
  int64_t h = height, w = width;
  if (ratio < range.ratio[0])
    h = round_half_even(static_cast<double>(w) / range.ratio[0]);
  else if (ratio > range.ratio[1])
    w = round_half_even(static_cast<double>(h) * range.ratio[1]);
  h = std::clamp(h, int64_t{1}, height);  // rounding may exceed the image, or leave no pixel
  w = std::clamp(w, int64_t{1}, width);
  return {(height - h) / 2, (width - w) / 2, h, w};
}

}  // namespace

Box sample_crop_box(int64_t height, int64_t width, const CropRange& range, const Key& key) {
  constexpr uint32_t kTries = 10;
  const double area = static_cast<double>(height) * static_cast<double>(width);
  const double log_low = std::log(range.ratio[0]), log_high = std::log(range.ratio[1]);
  for (uint32_t draw = 0; draw < 4 * kTries; draw += 4) {
    const double target = area * between(range.scale[0], range.scale[1], key.uniform(draw));
    const double ratio = std::exp(between(log_low, log_high, key.uniform(draw + 1)));
    const int64_t w = round_half_even(std::sqrt(target * ratio)),
                  h = round_half_even(std::sqrt(target / ratio));
    if (w <= 0 || w > width || h <= 0 || h > height) continue;
    return {key.below(draw + 2, height - h + 1), key.below(draw + 3, width - w + 1), h, w};
  }
  return centred(height, width, range);
}

}  // namespace headrace
