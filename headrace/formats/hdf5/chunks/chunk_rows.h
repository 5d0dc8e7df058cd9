// Rows of a chunked dataset: their chunks, and where their bytes go. Pure; any thread.
#pragma once
#include <span>
#include <vector>

#include "headrace/formats/hdf5/structures/contents.h"

namespace headrace::hdf5 {

struct RowRange {
  uint64_t begin = 0, end = 0;
  uint64_t size() const { return end - begin; }
};

// The existing chunks with these rows, in order.
std::span<const Chunk> chunks_of(const Dataset& dataset, RowRange rows);
// The rows that a chunk holds, in whole or in part.
RowRange rows_of(const Dataset& dataset, const Chunk& chunk);
// Whether chunks hold whole, contiguous rows.
bool holds_whole_rows(const Dataset& dataset);
// Whether it extends past the dataset's end in any dimension.
bool is_at_edge(const Dataset& dataset, const Chunk& chunk);

// Fills `out`, which holds whole elements, with the fill value.
void fill(const Dataset& dataset, std::span<std::byte> out);
// Copies the chunk's part of these rows from its decompressed bytes to its place in `out`, which holds the
// rows contiguously.
void place_chunk(const Dataset& dataset, const Chunk& chunk, std::span<const std::byte> plain, RowRange rows,
                 std::byte* out);

}  // namespace headrace::hdf5
