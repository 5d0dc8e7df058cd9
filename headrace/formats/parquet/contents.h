// What is known of one file before any of its rows is read: its footer, where the pages of large columns lie,
// and which rows a condition holds for. Found once, kept in the file's sidecar.
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
  std::optional<std::vector<uint32_t>> rows;  // those that a condition holds for, in order; none: all
};

inline constexpr char kIndexKind[] = "parquet 3";
// A row group of fewer bytes is read as a whole.
inline constexpr uint64_t kWholeGroup = uint64_t{1} << 20;

std::string pack(const Contents& contents);
Result<Contents> unpack(const std::string& extra);

// That the column's pages lie within the file.
Status check_chunk(const Chunk& chunk, uint64_t file_size);
// And that they are of the column's type, and have a value for each of `rows`.
Status check_chunk(const Chunk& chunk, const Column& column, uint64_t rows, uint64_t file_size);
// That a file may have as many rows and bytes of pages as its row groups say.
Status check_sizes(const Footer& footer, uint64_t file_size);

// The footer, then the indexes of pages of large row groups, those of `columns` (none: of all that are
// served), then the columns that `where` looks at. `tail`: bytes asked from the end at first.
std::unique_ptr<Opening<FileIndex>> index_parquet(SourceFile file, Where where,
                                                  std::vector<std::string> columns, uint64_t tail = 64 << 10);

}  // namespace headrace::parquet
