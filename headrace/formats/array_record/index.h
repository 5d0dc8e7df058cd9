// Where the chunks of an ArrayRecord are, how many records each has, and their unpacked size: from the footer
// at the end of the file.
#pragma once
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "headrace/formats/file_index.h"
#include "headrace/formats/source.h"

namespace headrace {

// FileIndex::records are chunks; its `extra` is pack_counts().
std::unique_ptr<Opening<FileIndex>> index_array_record(SourceFile file);

// The most bytes that a chunk unpacks to according to the footer, and the number of records of each chunk.
std::string pack_counts(uint64_t most_unpacked, const std::vector<uint64_t>& counts);
// Records before each chunk, then the total; empty if each chunk has one. Nothing if `bytes` were not packed
// for this number of chunks.
std::optional<std::vector<uint64_t>> unpack_counts(std::string_view bytes, size_t chunks,
                                                   uint64_t& most_unpacked);

// The first 64 bytes of every Riegeli file.
bool begins_riegeli(std::span<const std::byte> head);

}  // namespace headrace
