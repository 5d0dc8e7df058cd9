#include "headrace/ops/whole_shape.h"

#include <algorithm>

namespace headrace {

Status check_whole_shape(std::span<const int64_t> shape) {
  if (shape.size() > static_cast<size_t>(kMaxRank))
    return invalid("shape must have at most 8 dimensions, got " + std::to_string(shape.size()));
  if (std::ranges::any_of(shape, [](int64_t d) { return d < -1; }))
    return invalid("shape must have no negative dimension but -1");
  if (std::ranges::count(shape, -1) > 1) return invalid("shape must have at most one -1");
  return {};
}

std::optional<Shape> whole_shape(std::span<const int64_t> shape, int64_t count) {
  Shape out(shape);
  int open = -1;
  for (int i = 0; i < out.rank(); ++i)
    if (out[i] == kAny) open = i, out.set(i, 1);
  const int64_t known = out.count();
  if (open < 0) return known == count ? std::optional(out) : std::nullopt;
  if (known == 0 || count % known != 0) return std::nullopt;
  out.set(open, count / known);
  return out;
}

}  // namespace headrace
