// Rows of a chunked dataset: which chunks they lie in, and where their bytes go. Pure; any thread.
#pragma once
#include <span>
#include <vector>

#include "headrace/formats/hdf5/structures/contents.h"

namespace headrace::hdf5 {

struct RowRange {
  uint64_t begin = 0, end = 0;
  uint64_t size() const { return end - begin; }
};

// Those that are there, in order.
std::span<const Chunk> chunks_of(const Dataset& dataset, RowRange rows);
// The rows of which a chunk holds a part, or all.
RowRange rows_of(const Dataset& dataset, const Chunk& chunk);
// Whether a chunk holds whole rows, one behind the other.
bool holds_whole_rows(const Dataset& dataset);
// Whether it reaches over the dataset's end in any dimension.
bool is_at_edge(const Dataset& dataset, const Chunk& chunk);

// The fill value in all of `out`, which holds whole elements.
void fill(const Dataset& dataset, std::span<std::byte> out);
// What the chunk has of these rows, from its unpacked bytes to where they belong in `out`: the rows, one
// behind the other.
void place_chunk(const Dataset& dataset, const Chunk& chunk, std::span<const std::byte> plain, RowRange rows,
                 std::byte* out);

}  // namespace headrace::hdf5
