// The index of a file, built before any row is read: its footer, the positions of pages of large columns,
// and the rows that a condition selects. Built once, kept in the file's sidecar.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "headrace/formats/file_index.h"
#include "headrace/formats/parquet/metadata.h"
#include "headrace/formats/parquet/row_condition.h"
#include "headrace/formats/source.h"

namespace headrace::parquet {

// A column of a row group.
struct ChunkAt {
  uint32_t group = 0, leaf = 0;
  auto operator<=>(const ChunkAt&) const = default;
};

struct Contents {
  std::string footer;
  std::map<ChunkAt, std::vector<PagePlace>> pages;
  std::optional<std::vector<uint32_t>> rows;  // rows that satisfy the conditions, in order; nullopt: all
};

inline constexpr char kIndexKind[] = "parquet 3";
// A row group of at most this many bytes is read as a whole.
inline constexpr uint64_t kWholeGroup = uint64_t{1} << 20;

std::string pack(const Contents& contents);
Result<Contents> unpack(const std::string& extra);

// Checks that the column's pages are within the file.
Status check_chunk(const Chunk& chunk, uint64_t file_size);
// Also that they have the column's type, and a value for each of `rows`.
Status check_chunk(const Chunk& chunk, const Column& column, uint64_t rows, uint64_t file_size);
// Checks that the numbers of rows and bytes in the row groups are plausible for a file of this size.
Status check_sizes(const Footer& footer, uint64_t file_size);

// Reads the footer, then the page indexes of large row groups, for `columns` (empty: all that can be read),
// then the columns in `where`. `tail`: bytes first requested from the end.
std::unique_ptr<Opening<FileIndex>> index_parquet(SourceFile file, Where where,
                                                  std::vector<std::string> columns, uint64_t tail = 64 << 10);

}  // namespace headrace::parquet
