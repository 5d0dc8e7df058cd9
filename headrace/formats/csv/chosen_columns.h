// The columns of a CSV data set that were chosen, and how a row becomes their values.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headrace/formats/csv/index.h"
#include "headrace/formats/records/record_files.h"

namespace headrace {

struct CsvOptions {
  CsvDialect dialect;
  bool has_header = true;
  std::vector<std::string> names, columns;  // empty: as the files say; all
  Value dtypes, defaults;                   // objects by column, or null
};

struct CsvColumn {
  size_t place = 0;  // in the row
  std::string name;
  DType dtype = DType::str;
  std::optional<std::string> fallback = std::nullopt;  // what stands for an empty field
  Tensor fallback_value = {};                          // the same as it is given
  std::string note = {};  // what made it text, where most of its fields are numbers
};

struct CsvTable {
  CsvDialect dialect;
  size_t width = 0;  // fields of a row
  std::vector<CsvColumn> columns;
  std::vector<std::string> said = {};  // notes()
  std::vector<uint32_t> uses = {};     // which of them a field of a row is, by its place; kUnused: none
  static constexpr uint32_t kUnused = ~uint32_t{0};
  void find_uses();       // of its columns
  std::string hint = {};  // of one column: that another delimiter would make more

  Schema schema() const;
  const std::vector<std::string>& notes() const { return said; }  // of columns that may be meant otherwise
  CsvTable with_columns(std::span<const int> of_these) const;
  Status read(const Record& record, std::vector<Tensor>& fields) const;
  // As RecordFormat::put.
  size_t put(const RecordRun& run, std::span<const FieldPlace> to) const;
};

// `contents`: of each of `files`.
Result<CsvTable> csv_table(const CsvOptions& options, const std::vector<SourceFile>& files,
                           const std::vector<CsvContents>& contents);

}  // namespace headrace
