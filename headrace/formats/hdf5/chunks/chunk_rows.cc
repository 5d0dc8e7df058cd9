#include "headrace/formats/hdf5/chunks/chunk_rows.h"

#include <algorithm>
#include <cstring>

namespace headrace::hdf5 {
namespace {

uint64_t chunks_in(const Dataset& dataset, size_t dimension) {
  const uint64_t dim = dataset.dims[dimension], chunk = dataset.chunk[dimension];
  return dim / chunk + (dim % chunk != 0);
}

// Chunks with the same rows.
uint64_t chunks_across(const Dataset& dataset) {
  uint64_t out = 1;
  for (size_t i = 1; i < dataset.dims.size(); ++i) out *= chunks_in(dataset, i);
  return out;
}

// The coordinate of the chunk's first element in each dimension.
std::vector<uint64_t> origin(const Dataset& dataset, const Chunk& chunk) {
  std::vector<uint64_t> out(dataset.dims.size());
  uint64_t index = chunk.index;
  for (size_t i = out.size(); i-- > 0;) {
    const uint64_t count = chunks_in(dataset, i);
    out[i] = index % count * dataset.chunk[i];
    index /= count;
  }
  return out;
}

}  // namespace

std::span<const Chunk> chunks_of(const Dataset& dataset, RowRange rows) {
  const uint64_t across = chunks_across(dataset), each = dataset.chunk[0];
  if (rows.begin >= rows.end || across == 0) return {};
  const uint64_t first = rows.begin / each * across, end = ((rows.end - 1) / each + 1) * across;
  // Usually all chunks exist, and the i-th has index i.
  const auto& chunks = dataset.chunks;
  const auto lower = [&](uint64_t index) -> size_t {
    if (index < chunks.size() && chunks[index].index == index) return index;
    return static_cast<size_t>(std::ranges::lower_bound(chunks, index, {}, &Chunk::index) - chunks.begin());
  };
  const size_t begin = lower(first);
  return std::span(chunks).subspan(begin, lower(end) - begin);
}

RowRange rows_of(const Dataset& dataset, const Chunk& chunk) {
  const uint64_t begin = chunk.index / std::max<uint64_t>(chunks_across(dataset), 1) * dataset.chunk[0];
  return {begin, std::min(begin + dataset.chunk[0], dataset.rows())};
}

bool holds_whole_rows(const Dataset& dataset) {
  return std::equal(dataset.dims.begin() + 1, dataset.dims.end(), dataset.chunk.begin() + 1);
}

bool is_at_edge(const Dataset& dataset, const Chunk& chunk) {
  const std::vector<uint64_t> at = origin(dataset, chunk);
  for (size_t i = 0; i < at.size(); ++i)
    if (dataset.dims[i] - at[i] < dataset.chunk[i]) return true;
  return false;
}

void fill(const Dataset& dataset, std::span<std::byte> out) {
  if (out.empty()) return;
  if (dataset.fill.empty()) {
    std::memset(out.data(), 0, out.size());
    return;
  }
  for (size_t at = 0; at < out.size(); at += dataset.fill.size())
    std::memcpy(out.data() + at, dataset.fill.data(), dataset.fill.size());
}

void place_chunk(const Dataset& dataset, const Chunk& chunk, std::span<const std::byte> plain, RowRange rows,
                 std::byte* out) {
  const size_t rank = dataset.dims.size();
  const std::vector<uint64_t> begin = origin(dataset, chunk);
  // The part of the chunk that is inside the dataset and, in the first dimension, inside `rows`.
  std::vector<uint64_t> from(rank), count(rank), stride(rank), row_stride(rank);
  uint64_t in_chunk = dataset.element, in_row = dataset.element;
  for (size_t i = rank; i-- > 0;) {
    stride[i] = in_chunk, row_stride[i] = in_row;
    in_chunk *= dataset.chunk[i], in_row *= dataset.dims[i];
    count[i] = std::min(dataset.chunk[i], dataset.dims[i] - begin[i]);
  }
  const uint64_t first = std::max(begin[0], rows.begin), last = std::min(begin[0] + count[0], rows.end);
  if (first >= last) return;
  from[0] = first - begin[0], count[0] = last - first;
  uint64_t target = (first - rows.begin) * row_stride[0];
  for (size_t i = 1; i < rank; ++i) target += begin[i] * row_stride[i];
  // Dimensions that are complete in both are copied together with the dimension before them.
  size_t last_loop = rank - 1;
  uint64_t run = count[rank - 1] * dataset.element;
  while (last_loop > 0 && count[last_loop] == dataset.dims[last_loop] &&
         count[last_loop] == dataset.chunk[last_loop])
    --last_loop, run = count[last_loop] * stride[last_loop];
  std::vector<uint64_t> at(rank);
  const std::byte* source = plain.data() + from[0] * stride[0];
  while (true) {
    uint64_t here = 0, there = target;
    for (size_t i = 0; i < last_loop; ++i) here += at[i] * stride[i], there += at[i] * row_stride[i];
    std::memcpy(out + there, source + here, run);
    size_t i = last_loop;
    while (i > 0 && ++at[i - 1] == count[i - 1]) at[--i] = 0;
    if (i == 0) return;
  }
}

}  // namespace headrace::hdf5
