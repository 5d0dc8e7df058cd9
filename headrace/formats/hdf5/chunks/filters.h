// Undoes the filters of a chunk: gzip, shuffle, Fletcher's checksum, szip, h5py's LZF, zstd and bzip2. Pure;
// accepts any bytes; any thread.
#pragma once
#include <span>
#include <vector>

#include "headrace/core/buffer.h"
#include "headrace/formats/hdf5/structures/contents.h"

namespace headrace::hdf5 {

// OK, or why a dataset with these filters cannot be read.
Status check_filters(const std::vector<Filter>& filters);

// The dataset's chunk from its stored bytes: chunk_bytes() bytes. `stored` itself when no filter was applied.
Result<BufferPtr> unfilter(const Dataset& dataset, const Chunk& chunk, BufferPtr stored);

// Decompresses one LZF stream to exactly `out`.
Status unpack_lzf(std::span<const std::byte> in, std::span<std::byte> out);
void unshuffle(std::span<const std::byte> in, size_t element, std::span<std::byte> out);

}  // namespace headrace::hdf5
