// All files of a source: the chosen fields, and which rows are read at once.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "headrace/core/sample.h"
#include "headrace/core/value.h"
#include "headrace/formats/file_index.h"
#include "headrace/formats/hdf5/chunks/chunk_rows.h"
#include "headrace/formats/hdf5/structures/contents.h"
#include "headrace/formats/meaning/files_agree.h"
#include "headrace/formats/source.h"

namespace headrace::hdf5 {

// A leaf of one of the chosen datasets.
struct FieldAt {
  size_t dataset = 0;  // index into TableFile::datasets
  size_t leaf = 0;
};

struct TableFile {
  SourceFile file;
  Contents contents;             // only names for datasets that are not chosen
  std::vector<size_t> datasets;  // the chosen ones
  std::vector<FieldAt> fields;   // in the order of the schema
  uint64_t rows = 0;
  uint64_t rows_each = 1;             // of a group; or
  std::vector<uint64_t> starts;       // the first row of each group
  FieldChangesPtr changes = nullptr;  // of values: decoded, or to what holds for all files

  const Dataset& dataset(size_t i) const { return contents.datasets[datasets[i]]; }
  const Leaf& leaf(const FieldAt& at) const { return dataset(at.dataset).leaves[at.leaf]; }
  RowRange group_of(uint64_t row) const;  // REQUIRES: row < rows
};

struct Table {
  std::vector<TableFile> files;
  std::vector<uint64_t> first;  // rows in the files before; the total at its end
  std::string group;
  std::string path;  // of the first field's dataset
  Schema schema;
  Agreed agreed;                     // what holds for all files
  std::vector<std::string> decoded;  // fields whose values are decoded by the CF conventions
  // Of files of netCDF, those that are the same in all; an object, or null.
  Value attributes, field_attributes;
};

struct TableOptions {
  std::string group = {};  // whose datasets are fields; empty: the root, or the only one that has any
  std::vector<std::string> fields = {};  // names below it; all when empty
  std::optional<bool> raw = {};  // values as stored; not given: only where a file is not one of netCDF
  bool align_labels = false;
};

// An error names the file.
Result<Table> make_table(const std::vector<SourceFile>& files, std::vector<FileIndex> indexes,
                         const TableOptions& options);

// The rows of a dataset that are in memory once the file is open; nullopt otherwise.
std::optional<std::span<const std::byte>> resident_rows(const Dataset& dataset);

}  // namespace headrace::hdf5
