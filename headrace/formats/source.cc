#include "headrace/formats/source.h"

#include <optional>

namespace headrace {

Lot Source::lot(uint64_t index) const {
  if (resident()) return {size()};
  // The file of a sample that can be read alone.
  const auto file_of = [&](uint64_t i) -> std::optional<uint64_t> {
    Extent extent;
    if (!extents({&i, 1}, {&extent, 1}) || extent.length == kToEnd) return {};
    return extent.file;
  };
  const auto file = file_of(index);
  const uint64_t block = place(index).block;
  const auto is_near = [&](uint64_t i) {
    return i < size() && file_of(i) == file && (file || place(i).block == block);
  };
  uint64_t last = index, step = 1;
  for (; is_near(last + step); step *= 2) last += step;
  for (; step > 0; step /= 2)
    if (is_near(last + step)) last += step;
  return {last + 1};
}

}  // namespace headrace
