// The index of a CSV file: where its rows are, and what was seen of its columns while finding them.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headrace/formats/csv/row_syntax.h"
#include "headrace/formats/csv/values.h"
#include "headrace/formats/records/line_numbers.h"
#include "headrace/formats/records/whole_walk.h"

namespace headrace {

// What a file's index keeps besides its rows.
struct CsvContents {
  std::string header;  // the row without its end; empty when there is none
  std::vector<ColumnKind> columns;
  LineNumbers lines;

  std::string pack() const;
  static std::optional<CsvContents> unpack(std::string_view bytes);
};

// Empty lines are not rows. With `has_header`, the first row is not one either. FileIndex::extra is packed
// CsvContents.
std::unique_ptr<RecordFinder> csv_rows(const CsvDialect& dialect, bool has_header);

inline constexpr size_t kMostCsvRow = size_t{64} << 20;  // bytes; a longer one lacks a closing quote

}  // namespace headrace
