// Masks as COCO has them: polygons, and runs of pixels that count down the columns. What is painted equals
// what pycocotools paints, bit by bit. Pure functions; any thread.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "headrace/core/status.h"

namespace headrace {

// Pixels [begin, end), counted down the columns: pixel (x, y) is x * height + y.
struct MaskRun {
  uint64_t begin = 0, end = 0;
  bool operator==(const MaskRun&) const = default;
};

struct MaskSize {
  uint32_t height = 0, width = 0;
  uint64_t pixels() const { return uint64_t{height} * width; }
  bool operator==(const MaskSize&) const = default;
};
// At least a pixel, and no more than an image may have.
Status check_mask_size(int64_t height, int64_t width);

// How long the outlines of a sample may be, in fifths of a pixel: some thousand objects around an image of 16
// megapixels. What is longer is no outline of anything, and would take seconds.
inline constexpr uint64_t kMostOutline = uint64_t{1} << 26;

// Lengths of runs, of which the first is not set: "counts". They fill the mask exactly.
Result<std::vector<MaskRun>> runs_of_counts(std::span<const uint64_t> counts, const MaskSize& size);
// The same as a text: five bits a character, the third and later ones as differences to those two before.
Result<std::vector<MaskRun>> runs_of_text(std::string_view counts, const MaskSize& size);

// Add the runs of a polygon x0, y0, x1, y1, …, in pixels. REQUIRES: two numbers at least. `outline`: how long
// outlines may still be.
Status add_polygon(std::span<const double> polygon, const MaskSize& size, uint64_t& outline,
                   std::vector<MaskRun>& runs);
// Runs in any order become their union, in order and apart.
void join_runs(std::vector<MaskRun>& runs);

// Set the pixels of the runs, of which (x, y) is at out[y * row_stride + x]. REQUIRES: the runs lie in the
// mask.
template <class T>
void paint_runs(std::span<const MaskRun> runs, const MaskSize& size, T* out, size_t row_stride, T value) {
  for (const MaskRun& run : runs) {
    uint64_t x = run.begin / size.height, y = run.begin % size.height;
    for (uint64_t left = run.end - run.begin; left > 0; ++x, y = 0) {
      const uint64_t count = left < size.height - y ? left : size.height - y;
      T* to = out + y * row_stride + x;
      for (uint64_t i = 0; i < count; ++i, to += row_stride) *to = value;
      left -= count;
    }
  }
}

}  // namespace headrace
