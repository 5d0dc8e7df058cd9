// All files of a source: the chosen fields, and which rows are read at once.
#pragma once
#include <string>
#include <vector>

#include "headrace/core/sample.h"
#include "headrace/core/value.h"
#include "headrace/formats/file_index.h"
#include "headrace/formats/hdf5/chunks/chunk_rows.h"
#include "headrace/formats/hdf5/structures/contents.h"
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
  uint64_t rows_each = 1;        // of a group; or
  std::vector<uint64_t> starts;  // the first row of each group

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
  Value about;  // source metadata that our writer stored in the first file: an object, or null
};

// `group`: the group whose datasets are fields; when empty, the root, or the only one that has datasets.
// `fields`: names below it; all when empty. An error names the file.
Result<Table> make_table(const std::vector<SourceFile>& files, std::vector<FileIndex> indexes,
                         const std::string& group, const std::vector<std::string>& fields);

// The rows of a dataset that are in memory once the file is open; nullopt otherwise.
std::optional<std::span<const std::byte>> resident_rows(const Dataset& dataset);

}  // namespace headrace::hdf5
