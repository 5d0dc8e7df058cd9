// What a field of CSV is: a number, a bool or text. Any thread.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>

#include "headrace/core/dtype.h"
#include "headrace/core/status.h"

namespace headrace {

// Which types hold every field of a column that was seen. One that is no number makes it text; the fields
// behind that one are looked at as long as it may be said that few did.
struct ColumnKind {
  uint64_t num_numbers = 0, num_texts = 0;          // of the fields that were looked at
  bool is_integer = true;                           // all numbers are i64
  bool is_of_texts = false;                         // most are none: others are not looked at
  uint64_t text_line = 0;                           // of the first that is no number
  std::string text;                                 // its beginning
  void see(std::string_view field, uint64_t line);  // not empty
  void merge(const ColumnKind& later);
  DType dtype() const;  // i64, f64 or str
  DType dtype_of_numbers() const { return is_integer ? DType::i64 : DType::f64; }
  bool is_mostly_numbers() const;  // and text
  bool operator==(const ColumnKind&) const = default;
};

// The field as a number or a bool of size_of(dtype) bytes at `out`; false when it is none, or does not fit.
// Blanks around it are passed over. Floats are rounded to the nearest; beyond all they are infinite.
bool parse_number(std::string_view field, DType dtype, std::byte* out);

// The same of a number as most are written; false where it is not, and parse_number() has to look.
using ParsePlain = bool (*)(std::string_view field, std::byte* out);
ParsePlain parse_plain(DType dtype);  // null: of a dtype that has none

}  // namespace headrace
