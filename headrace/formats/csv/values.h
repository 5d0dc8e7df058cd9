// What a field of CSV is: a number, a bool or text. Any thread.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "headrace/core/dtype.h"
#include "headrace/core/status.h"
#include "headrace/formats/records/mostly_numbers.h"

namespace headrace {

// Which types hold every field of a column that was seen. One that is no number makes it text.
struct ColumnKind {
  MostlyNumbers counts;
  bool is_integer = true;                           // all numbers are i64
  void see(std::string_view field, uint64_t line);  // not empty
  void merge(const ColumnKind& later, const std::string& path_of_later);
  DType dtype() const;  // i64, f64 or str
  DType dtype_of_numbers() const { return is_integer ? DType::i64 : DType::f64; }
  bool operator==(const ColumnKind&) const = default;
};

// The field as a number or a bool of size_of(dtype) bytes at `out`; false when it is none, or does not fit.
// Blanks around it are passed over. Floats are rounded to the nearest; beyond all they are infinite.
bool parse_number(std::string_view field, DType dtype, std::byte* out);

// The same of a number as most are written; false where it is not, and parse_number() has to look.
using ParsePlain = bool (*)(std::string_view field, std::byte* out);
ParsePlain parse_plain(DType dtype);  // null: of a dtype that has none

}  // namespace headrace
