// A rectangle of pixels: the position of a crop, or the part of an image that is needed.
#pragma once
#include <cstdint>

namespace headrace {

struct Box {  // upper left corner and size
  int64_t y = 0, x = 0, h = 0, w = 0;
  bool operator==(const Box&) const = default;

  int64_t bottom() const { return y + h; }
  int64_t right() const { return x + w; }
  bool empty() const { return h <= 0 || w <= 0; }
  // The smallest box that contains both.
  Box around(const Box& other) const {
    if (empty()) return other;
    if (other.empty()) return *this;
    return between(least(y, other.y), least(x, other.x), most(bottom(), other.bottom()),
                   most(right(), other.right()));
  }
  // The part of it inside an image of this size.
  Box within(int64_t height, int64_t width) const {
    return between(most(y, 0), most(x, 0), least(bottom(), height), least(right(), width));
  }

 private:
  static constexpr int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
  static constexpr int64_t most(int64_t a, int64_t b) { return a < b ? b : a; }
  static constexpr Box between(int64_t top, int64_t left, int64_t bottom, int64_t right) {
    return {top, left, bottom - top, right - left};
  }
};

}  // namespace headrace
