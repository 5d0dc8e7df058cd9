// The columns of a CSV data set that were chosen, and how a row becomes their values.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headrace/formats/csv/walk.h"
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
};

struct CsvTable {
  CsvDialect dialect;
  size_t width = 0;  // fields of a row
  std::vector<CsvColumn> columns;

  Schema schema() const;
  Status read(const Record& record, std::vector<Tensor>& fields) const;
};

// `contents`: of each of `files`.
Result<CsvTable> csv_table(const CsvOptions& options, const std::vector<SourceFile>& files,
                           const std::vector<CsvContents>& contents);

}  // namespace headrace
