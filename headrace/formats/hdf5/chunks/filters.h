// Undoes the filters of a chunk: gzip, shuffle, Fletcher's checksum, szip and h5py's LZF. Pure; any bytes may
// be given; any thread.
#pragma once
#include <span>
#include <vector>

#include "headrace/core/buffer.h"
#include "headrace/formats/hdf5/structures/contents.h"

namespace headrace::hdf5 {

// Nothing to say, or why a dataset with these filters is not read.
Status check_filters(const std::vector<Filter>& filters);

// The dataset's chunk from what is stored of it: as many bytes as chunk_bytes(). `stored` itself when no
// filter was applied.
Result<BufferPtr> unfilter(const Dataset& dataset, const Chunk& chunk, BufferPtr stored);

// One LZF stream that unpacks to exactly `out`.
Status unpack_lzf(std::span<const std::byte> in, std::span<std::byte> out);
void unshuffle(std::span<const std::byte> in, size_t element, std::span<std::byte> out);

}  // namespace headrace::hdf5
