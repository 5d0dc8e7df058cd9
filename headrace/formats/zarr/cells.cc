#include "headrace/formats/zarr/cells.h"

#include <algorithm>
#include <cstring>

namespace headrace::zarr {

void fill_elements(const std::string& fill, std::span<std::byte> out) {
  if (out.empty()) return;
  if (std::ranges::all_of(fill, [](char c) { return c == '\0'; })) {
    std::memset(out.data(), 0, out.size());
    return;
  }
  size_t done = std::min(fill.size(), out.size());
  std::memcpy(out.data(), fill.data(), done);
  while (done < out.size()) {  // doubled with each copy
    const size_t more = std::min(done, out.size() - done);
    std::memcpy(out.data() + done, out.data(), more);
    done += more;
  }
}

void place_cell(const Box& cell, const Dims& strides, const Box& target, uint64_t element_bytes,
                std::span<const std::byte> plain, std::byte* out) {
  const size_t rank = cell.size.size();
  Dims count(rank), to_stride(rank);
  uint64_t from = 0, to = 0, stride = element_bytes;
  for (size_t i = rank; i-- > 0;) {
    const uint64_t begin = std::max(cell.origin[i], target.origin[i]);
    const uint64_t end = std::min(cell.origin[i] + cell.size[i], target.origin[i] + target.size[i]);
    if (begin >= end) return;
    count[i] = end - begin, to_stride[i] = stride;
    from += (begin - cell.origin[i]) * strides[i];
    to += (begin - target.origin[i]) * stride;
    stride *= target.size[i];
  }
  // Axes that are contiguous in both are copied as one run.
  size_t loops = rank;
  uint64_t run = element_bytes;
  while (loops > 0 && strides[loops - 1] == run && to_stride[loops - 1] == run) run *= count[--loops];
  Dims at(loops);
  const std::byte* source = plain.data() + from;
  std::byte* sink = out + to;
  while (true) {
    std::memcpy(sink, source, run);
    size_t i = loops;
    while (i > 0) {
      --i;
      source += strides[i], sink += to_stride[i];
      if (++at[i] < count[i]) break;
      source -= strides[i] * count[i], sink -= to_stride[i] * count[i];
      at[i] = 0;
      if (i == 0) return;
    }
    if (loops == 0) return;
  }
}

}  // namespace headrace::zarr
