#include "headrace/ops/geometry.h"

#include <cstring>
#include <type_traits>

namespace headrace {

static_assert(std::is_trivially_copyable_v<Geometry>);

Geometry Geometry::cropped(const Box& box) const {
  Geometry out = *this;
  Box& part = resampled ? out.window : out.from;
  const int64_t left = mirrored ? part.w - box.right() : box.x;
  part = {part.y + box.y, part.x + left, box.h, box.w};
  return out;
}

Geometry Geometry::flipped() const {
  Geometry out = *this;
  out.mirrored = !mirrored;
  return out;
}

Geometry Geometry::resized(ImageSize size, Sampling sampling) const {
  Geometry out = *this;
  out.resampled = true;
  out.grid_height = size.height, out.grid_width = size.width;
  out.window = {0, 0, size.height, size.width};
  out.interpolation = sampling.interpolation, out.antialias = sampling.antialias;
  return out;
}

Resampled Geometry::picture() const {
  return {from, grid_height, grid_width, window, mirrored, interpolation, antialias};
}

TensorSpec geometry_spec() { return {DType::u8, {sizeof(Geometry)}}; }

Geometry read_geometry(const View& view) {
  Geometry out;
  std::memcpy(&out, view.data, sizeof(out));
  return out;
}

void write_geometry(const Geometry& geometry, MutView out) {
  std::memcpy(out.data, &geometry, sizeof(geometry));
}

}  // namespace headrace
