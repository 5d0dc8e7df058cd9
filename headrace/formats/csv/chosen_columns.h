// The chosen columns of a CSV data set, and how a row becomes their values.
#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headrace/formats/csv/index.h"
#include "headrace/formats/nulls.h"
#include "headrace/formats/records/record_files.h"
#include "headrace/formats/strings/utf8_strings.h"

namespace headrace {

struct CsvOptions {
  CsvDialect dialect;
  bool has_header = true;
  std::vector<std::string> names, columns;  // empty: those of the files; all
  Value dtypes, defaults;                   // objects by column, or null
  NullRules nulls;                          // for empty fields
  Encoding encoding = Encoding::utf8;       // with another, strings are left as they are
};

struct CsvColumn {
  size_t place = 0;  // position in the row
  std::string name;
  DType dtype = DType::str;
  std::optional<std::string> fallback = std::nullopt;  // the value of an empty field
  Tensor fallback_value = {};                          // the same as a tensor
  std::string note = {};   // what made it text, when most of its fields are numbers
  bool is_chosen = false;  // the dtype, by `dtypes`: float64 may then round whole numbers
  bool is_mask = false;    // of the column at this position: whether its field is not empty

  // Whether a number of this column, which was parsed into `value`, became another one.
  bool is_rounded(std::string_view number, const std::byte* value) const {
    return dtype == DType::f64 && !is_chosen && !is_held(number, value);
  }
};

struct CsvTable {
  CsvDialect dialect;
  size_t width = 0;  // fields of a row
  std::vector<CsvColumn> columns;
  std::vector<std::string> said = {};  // notes()
  std::vector<uint32_t> uses = {};     // index into `columns` of each field of a row; kUnused: not chosen
  static constexpr uint32_t kUnused = ~uint32_t{0};
  void find_uses();        // sets `uses`
  std::string hint = {};   // for rows of one column: another delimiter would split them
  std::string nulls = {};  // how empty fields are read, for a fingerprint
  bool checks_utf8 = true;

  Schema schema() const;
  bool has_masks() const { return std::ranges::any_of(columns, &CsvColumn::is_mask); }
  const std::vector<std::string>& notes() const { return said; }  // columns that may be misread
  CsvTable with_columns(std::span<const int> of_these) const;
  Status read(const Record& record, std::vector<Tensor>& fields) const;
  // See RecordFormat::put.
  size_t put(const RecordRun& run, std::span<const FieldPlace> to) const;
};

// `contents`: one for each of `files`.
Result<CsvTable> csv_table(const CsvOptions& options, const std::vector<SourceFile>& files,
                           const std::vector<CsvContents>& contents);

}  // namespace headrace
