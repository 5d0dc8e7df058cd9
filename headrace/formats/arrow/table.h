// All files of a source: the chosen columns, and the location of each row.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "headrace/formats/arrow/index.h"
#include "headrace/formats/arrow/rows.h"
#include "headrace/formats/meaning/files_agree.h"
#include "headrace/formats/nulls.h"

namespace headrace::arrow {

struct TableFile {
  SourceFile file;
  std::shared_ptr<const std::vector<RecordExtent>> batches;
  std::shared_ptr<const Contents> contents;  // without schema and dictionaries
  std::shared_ptr<const Layout> layout;
  std::shared_ptr<const std::vector<Column>> columns;
  Dictionaries dictionaries;
  FieldChangesPtr changes = nullptr;  // of values to what holds for all files
};

// A unit of reading: a batch, or some rows of a large one.
struct Group {
  size_t file = 0;
  uint64_t batch = 0;
  uint64_t first = 0, rows = 0;  // in the batch
};

struct Table {
  std::vector<TableFile> files;
  std::vector<uint64_t> first;  // rows in the files before; the total at its end
  Schema schema;
  uint64_t row_bytes = 0;                     // of the chosen columns, when all have a fixed size
  std::vector<Nulls> nulls;                   // of each column
  Agreed agreed;                              // what holds for all files
  std::vector<std::string> left_out_columns;  // of any file; empty when columns were chosen
  std::shared_ptr<const Table> whole;         // owner of the dictionaries, where this has fewer columns

  Group group_of(uint64_t row) const;  // REQUIRES: row < first.back()
  uint64_t first_row(const Group& group) const {
    const TableFile& file = files[group.file];
    return first[group.file] + file.contents->rows_before(group.batch) + group.first;
  }
};

// Parses the files' schemas, selects the columns, reads the dictionaries. An error names the file.
Result<Table> make_table(const std::vector<SourceFile>& files, std::vector<FileIndex> indexes,
                         const std::vector<std::string>& columns, const NullRules& nulls,
                         bool align_labels = false);

// The same rows with only these of its columns.
Table with_columns(std::shared_ptr<const Table> whole, std::span<const int> fields);

// The rows as samples. `format`: the name of the source's format.
Result<SourcePtr> table_source(std::string format, const OpenRequest& request, Table table);

}  // namespace headrace::arrow
