// All files of a source: the chosen columns, the location of each row, and the units of reading.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "headrace/formats/format.h"
#include "headrace/formats/meaning/files_agree.h"
#include "headrace/formats/nulls.h"
#include "headrace/formats/parquet/contents.h"
#include "headrace/formats/parquet/schema.h"
#include "headrace/formats/parquet/values.h"

namespace headrace::parquet {

// A chosen column of a row group.
struct TableChunk {
  Codec codec = Codec::none;
  uint64_t offset = 0, size = 0, values = 0;
  std::vector<PagePlace> pages;  // empty: it is read as a whole
};

struct TableGroup {
  uint64_t first = 0, rows = 0;    // in the file
  std::vector<TableChunk> chunks;  // one for each column
};

struct TableFile {
  SourceFile file;
  std::vector<TableGroup> groups;
  std::shared_ptr<const std::vector<Column>> columns;
  uint64_t rows = 0;                  // that are samples
  FieldChangesPtr changes = nullptr;  // of values to what holds for all files
};

// A unit of reading: a row group, or the rows of some pages of a large one.
struct Part {
  uint32_t file = 0, group = 0;
  uint64_t first = 0, rows = 0;  // in the row group
};

struct Table {
  std::vector<TableFile> files;
  std::vector<Part> parts;
  std::vector<uint64_t> part_rows = {0};                // before each part; the total at its end
  std::shared_ptr<const std::vector<uint64_t>> chosen;  // with a condition: the row of each sample
  Schema schema;
  std::vector<Nulls> nulls;                   // of each column
  Agreed agreed;                              // what holds for all files
  std::vector<std::string> left_out_columns;  // of any file, if all columns were requested

  uint64_t size() const { return chosen ? chosen->size() : part_rows.back(); }
  uint64_t row_of(uint64_t sample) const { return chosen ? (*chosen)[sample] : sample; }
  size_t part_of(uint64_t row) const;  // REQUIRES: row < part_rows.back()
};

struct TableOptions {
  std::vector<std::string> columns = {};
  std::vector<std::string> conditional = {};  // columns of where=, whose stored values are compared
  NullRules nulls = {};
  bool align_labels = false;
};

// Parses the files' footers and selects the columns. An error names the file.
Result<Table> make_table(const std::vector<SourceFile>& files, const std::vector<FileIndex>& indexes,
                         const TableOptions& options);

// The same rows with only these of its columns, split into parts accordingly.
Table with_columns(const Table& whole, std::span<const int> fields);

std::unique_ptr<Opening<BlockPtr>> open_part(std::shared_ptr<const Table> table, size_t part);

}  // namespace headrace::parquet
