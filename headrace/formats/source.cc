#include "headrace/formats/source.h"

#include <cstring>
#include <optional>

namespace headrace {

bool FieldPlace::put(size_t n, Tensor&& row) const {
  if (!values) {
    if (texts && row.is_ragged()) return false;
    share(n, std::move(row));
    return true;
  }
  if (row.dtype != spec->dtype || !(row.shape == spec->shape)) return false;
  const View view = row.view();
  const size_t size = view.size_bytes();
  if (size > 0) std::memcpy(values + n * size, view.data, size);
  return true;
}

size_t put_each(const Block& block, std::span<const uint64_t> rows, std::span<const FieldPlace> to) {
  std::vector<Tensor> fields;
  for (size_t n = 0; n < rows.size(); ++n) {
    if (!block.get(rows[n], fields).ok() || fields.size() != to.size()) return n;
    for (size_t f = 0; f < to.size(); ++f)
      if (!to[f].put(n, std::move(fields[f]))) return n;
  }
  return rows.size();
}

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
