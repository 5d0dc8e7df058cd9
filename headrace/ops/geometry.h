// Where the pixels of a picture come from: what cropping, flipping and resizing operators do to an image,
// computed without pixels. Each of them has a method place() next to run() (ops/op.h); a chain of them is one
// Geometry, which codecs/resampled.h turns into a picture. A plain value, copied as bytes.
#pragma once
#include "headrace/codecs/resampled.h"
#include "headrace/core/tensor.h"
#include "headrace/ops/resample.h"

namespace headrace {

struct Geometry {
  Box from;                                 // of the upright image
  bool mirrored = false;                    // left to right, after everything else
  bool resampled = false;                   // the members below are valid only then
  int64_t grid_height = 0, grid_width = 0;  // the size that `from` becomes
  Box window;                               // of the grid
  Interpolation interpolation = Interpolation::bilinear;
  bool antialias = true;

  static Geometry of(int64_t height, int64_t width) { return {.from = {0, 0, height, width}}; }

  // The size of the picture so far.
  int64_t height() const { return part().h; }
  int64_t width() const { return part().w; }
  Shape shape(int64_t channels) const { return {height(), width(), channels}; }
  Box whole() const { return {0, 0, height(), width()}; }

  Geometry cropped(const Box& box) const;  // REQUIRES: box lies within whole()
  Geometry flipped() const;
  Geometry resized(ImageSize size, Sampling sampling) const;  // REQUIRES: !resampled, not nearest

  Resampled picture() const;  // REQUIRES: resampled

 private:
  const Box& part() const { return resampled ? window : from; }
};

// A Geometry between two operators is a tensor of its bytes.
TensorSpec geometry_spec();
Geometry read_geometry(const View& view);
void write_geometry(const Geometry& geometry, MutView out);

}  // namespace headrace
