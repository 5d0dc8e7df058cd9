#include "headrace/formats/coco/masks.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>

#include "headrace/codecs/image.h"

namespace headrace {
namespace {

constexpr double kScale = 5;            // points of an outline per pixel
constexpr double kFarthest = 1e7;       // pixels from the image: anything further away is damage
constexpr size_t kMostCharacters = 13;  // per count: 64 bits

struct Point {
  int x = 0, y = 0;
};

// Follows an outline, point by point, and records where it crosses from one column of pixels to the next.
class Outline {
 public:
  explicit Outline(const MaskSize& size) : size_(size) {}

  void edge(Point from, Point to) {
    const int dx = std::abs(to.x - from.x), dy = std::abs(to.y - from.y);
    const bool is_flat = dx >= dy;
    const bool is_turned = is_flat ? from.x > to.x : from.y > to.y;
    if (is_turned) std::swap(from, to);
    const int length = is_flat ? dx : dy;
    // For an edge without length pycocotools divides 0 by 0; the result is never used.
    const double slope = length == 0 ? 0
                         : is_flat   ? static_cast<double>(to.y - from.y) / dx
                                     : static_cast<double>(to.x - from.x) / dy;
    for (int i = 0; i <= length; ++i) {
      const int along = is_turned ? length - i : i;
      if (is_flat)
        step({along + from.x, static_cast<int>(from.y + slope * along + .5)});
      else
        step({static_cast<int>(from.x + slope * along + .5), along + from.y});
    }
  }

  std::vector<uint32_t> crossings;  // pixels before which the inside begins or ends

 private:
  void step(Point to) {
    const Point from = std::exchange(at_, to);
    if (!std::exchange(has_begun_, true) || from.x == to.x) return;
    const double x = ((to.x < from.x ? to.x : to.x - 1) + .5) / kScale - .5;
    if (std::floor(x) != x || x < 0 || x > size_.width - 1.0) return;
    const double y = (std::min(to.y, from.y) + .5) / kScale - .5;
    const double row = std::ceil(std::clamp(y, 0.0, static_cast<double>(size_.height)));
    crossings.push_back(static_cast<uint32_t>(x) * size_.height + static_cast<uint32_t>(row));
  }

  MaskSize size_;
  Point at_;
  bool has_begun_ = false;
};

Result<Point> scaled(double x, double y) {
  if (!(std::abs(x) <= kFarthest) || !(std::abs(y) <= kFarthest))
    return corrupt({.expected = "polygons within 1e7 pixels",
                    .got = "(" + std::to_string(x) + ", " + std::to_string(y) + ")"});
  return Point{static_cast<int>(kScale * x + .5), static_cast<int>(kScale * y + .5)};
}

uint64_t longer_side(const Point& a, const Point& b) {
  return static_cast<uint64_t>(std::max(std::abs(a.x - b.x), std::abs(a.y - b.y))) + 1;
}

Status wrong_sum(uint64_t sum, const MaskSize& size) {
  return corrupt({.expected = "runs of " + std::to_string(size.pixels()) + " pixels, " +
                              std::to_string(size.height) + " x " + std::to_string(size.width),
                  .got = sum > size.pixels() ? "more" : std::to_string(sum)});
}

// Collects runs in the order of the counts.
class RunTaker {
 public:
  explicit RunTaker(const MaskSize& size) : size_(size) {}
  bool take(uint64_t count) {
    if (count > size_.pixels() - sum_) return false;
    if (is_set_ && count > 0) runs_.push_back({sum_, sum_ + count});
    is_set_ = !is_set_;
    sum_ += count;
    return true;
  }
  Result<std::vector<MaskRun>> finish() && {
    if (sum_ != size_.pixels()) return wrong_sum(sum_, size_);
    return std::move(runs_);
  }

 private:
  MaskSize size_;
  uint64_t sum_ = 0;
  bool is_set_ = false;
  std::vector<MaskRun> runs_;
};

// The next number of a string of counts; false if there is none.
bool take_number(std::string_view& text, int64_t& out) {
  uint64_t bits = 0;
  for (size_t i = 0; i < std::min(text.size(), kMostCharacters); ++i) {
    const int c = static_cast<unsigned char>(text[i]) - 48;
    if (c < 0 || c > 63) return false;
    bits |= static_cast<uint64_t>(c & 0x1f) << (5 * i);
    if ((c & 0x20) != 0) continue;
    if ((c & 0x10) != 0 && 5 * (i + 1) < 64) bits |= ~uint64_t{0} << (5 * (i + 1));
    text.remove_prefix(i + 1);
    out = static_cast<int64_t>(bits);
    return true;
  }
  return false;
}

}  // namespace

Status check_mask_size(int64_t height, int64_t width) {
  if (height >= 1 && width >= 1 && height <= kMaxImagePixels && width <= kMaxImagePixels &&
      height * width <= kMaxImagePixels)
    return {};
  return corrupt({.expected = "height and width of at most " + std::to_string(kMaxImagePixels) + " pixels",
                  .got = std::to_string(height) + " x " + std::to_string(width)});
}

Result<std::vector<MaskRun>> runs_of_counts(std::span<const uint64_t> counts, const MaskSize& size) {
  RunTaker taker(size);
  for (const uint64_t count : counts)
    if (!taker.take(count)) return wrong_sum(size.pixels() + 1, size);
  return std::move(taker).finish();
}

Result<std::vector<MaskRun>> runs_of_text(std::string_view counts, const MaskSize& size) {
  RunTaker taker(size);
  const std::string_view whole = counts;
  int64_t before = 0, last = 0;  // the count before the last one, and the last one
  for (size_t i = 0; !counts.empty(); ++i) {
    int64_t count = 0;
    const size_t at = whole.size() - counts.size();
    if (!take_number(counts, count))
      return corrupt(
          {.expected = "compressed counts", .got = "something else at character " + std::to_string(at)});
    // Neither exceeds the size of a mask, unless the string is damaged.
    if (i > 2 && __builtin_add_overflow(count, before, &count)) count = -1;
    if (count < 0)
      return corrupt({.expected = "counts of at least 0", .got = "less at character " + std::to_string(at)});
    if (!taker.take(static_cast<uint64_t>(count))) return wrong_sum(size.pixels() + 1, size);
    before = last, last = count;
  }
  return std::move(taker).finish();
}

Status add_polygon(std::span<const double> polygon, const MaskSize& size, uint64_t& outline,
                   std::vector<MaskRun>& runs) {
  std::vector<Point> points;
  points.reserve(polygon.size() / 2 + 1);
  for (size_t i = 0; i + 1 < polygon.size(); i += 2) {
    HEADRACE_ASSIGN(const Point point, scaled(polygon[i], polygon[i + 1]));
    points.push_back(point);
  }
  points.push_back(points[0]);
  for (size_t i = 0; i + 1 < points.size(); ++i) {
    const uint64_t length = longer_side(points[i], points[i + 1]);
    if (length > outline)
      return {Code::exhausted, Mismatch{.expected = "outlines of at most 13 million pixels in an image",
                                        .got = "longer ones"}};
    outline -= length;
  }
  Outline drawn(size);
  for (size_t i = 0; i + 1 < points.size(); ++i) drawn.edge(points[i], points[i + 1]);
  std::vector<uint32_t>& at = drawn.crossings;
  std::ranges::sort(at);
  if (at.size() % 2 == 1) at.push_back(static_cast<uint32_t>(size.pixels()));
  for (size_t i = 0; i < at.size(); i += 2)
    if (at[i] < at[i + 1]) runs.push_back({at[i], at[i + 1]});
  return {};
}

void join_runs(std::vector<MaskRun>& runs) {
  std::ranges::sort(runs, {}, &MaskRun::begin);
  size_t kept = 0;
  for (const MaskRun& run : runs) {
    if (kept > 0 && run.begin <= runs[kept - 1].end)
      runs[kept - 1].end = std::max(runs[kept - 1].end, run.end);
    else
      runs[kept++] = run;
  }
  runs.resize(kept);
}

}  // namespace headrace
