// A rectangle of pixels: where a crop lies, or which part of an image somebody needs.
#pragma once
#include <algorithm>
#include <cstdint>

namespace headrace {

struct Box {  // upper left corner and size
  int64_t y = 0, x = 0, h = 0, w = 0;
  bool operator==(const Box&) const = default;

  int64_t bottom() const { return y + h; }
  int64_t right() const { return x + w; }
  bool empty() const { return h <= 0 || w <= 0; }
  // The smallest box around both.
  Box around(const Box& other) const {
    if (empty()) return other;
    if (other.empty()) return *this;
    const int64_t top = std::min(y, other.y), left = std::min(x, other.x);
    return {top, left, std::max(bottom(), other.bottom()) - top, std::max(right(), other.right()) - left};
  }
  // The part of it that lies in an image of this size.
  Box within(int64_t height, int64_t width) const {
    const int64_t top = std::clamp<int64_t>(y, 0, height), left = std::clamp<int64_t>(x, 0, width);
    return {top, left, std::clamp<int64_t>(bottom(), top, height) - top,
            std::clamp<int64_t>(right(), left, width) - left};
  }
};

}  // namespace headrace
