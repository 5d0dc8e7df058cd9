// What a field of CSV is: a number, a bool or text. Any thread.
#pragma once
#include <string_view>

#include "headrace/core/dtype.h"
#include "headrace/core/status.h"

namespace headrace {

// Which types hold every field of a column that was seen.
struct ColumnKind {
  bool has_values = false;  // a field that is not empty
  bool is_integer = true, is_float = true;
  void see(std::string_view field);  // not empty
  void merge(const ColumnKind& other);
  DType dtype() const;  // i64, f64 or str
  bool operator==(const ColumnKind&) const = default;
};

// The field as a number or a bool of size_of(dtype) bytes at `out`; false when it is none, or does not fit.
// Blanks around it are passed over. Floats are rounded to the nearest; beyond all they are infinite.
bool parse_number(std::string_view field, DType dtype, std::byte* out);

// The same of a number as most are written; false where it is not, and parse_number() has to look.
using ParsePlain = bool (*)(std::string_view field, std::byte* out);
ParsePlain parse_plain(DType dtype);  // null: of a dtype that has none

}  // namespace headrace
