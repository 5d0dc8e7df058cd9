// COCO masks: polygons, and runs of pixels in column order. Masks equal those of pycocotools, bit by bit.
// Pure functions; any thread.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "headrace/core/status.h"

namespace headrace {

// Pixels [begin, end), in column order: pixel (x, y) is x * height + y.
struct MaskRun {
  uint64_t begin = 0, end = 0;
  bool operator==(const MaskRun&) const = default;
};

struct MaskSize {
  uint32_t height = 0, width = 0;
  uint64_t pixels() const { return uint64_t{height} * width; }
  bool operator==(const MaskSize&) const = default;
};
// At least one pixel, and no more than an image may have.
Status check_mask_size(int64_t height, int64_t width);

// The maximum length of the outlines of a sample, in fifths of a pixel: some thousand objects in an image of
// 16 megapixels. Longer outlines are not realistic, and would take seconds.
inline constexpr uint64_t kMostOutline = uint64_t{1} << 26;

// Lengths of alternating runs, the first of which is not set: "counts". They must fill the mask exactly.
Result<std::vector<MaskRun>> runs_of_counts(std::span<const uint64_t> counts, const MaskSize& size);
// The same from a string: five bits per character, the third and later ones as differences to the one two
// before.
Result<std::vector<MaskRun>> runs_of_text(std::string_view counts, const MaskSize& size);

// Add the runs of a polygon x0, y0, x1, y1, …, in pixels. REQUIRES: at least two numbers. `outline`: the
// remaining allowed length of outlines.
Status add_polygon(std::span<const double> polygon, const MaskSize& size, uint64_t& outline,
                   std::vector<MaskRun>& runs);
// Replaces runs in any order by their union, sorted and disjoint.
void join_runs(std::vector<MaskRun>& runs);

// Set the pixels of the runs, where (x, y) is at out[y * row_stride + x]. REQUIRES: the runs are inside the
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
