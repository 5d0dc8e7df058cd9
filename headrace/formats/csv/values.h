// Types of CSV fields: number, bool or text. Any thread.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "headrace/core/dtype.h"
#include "headrace/core/status.h"
#include "headrace/formats/records/mostly_numbers.h"

namespace headrace {

// The types that hold every field of a column that was seen. One field that is not a number makes it text.
struct ColumnKind {
  MostlyNumbers counts;
  bool is_integer = true;                           // all numbers fit int64
  void see(std::string_view field, uint64_t line);  // not empty
  void merge(const ColumnKind& later, const std::string& path_of_later);
  DType dtype() const;  // int64, float64 or str
  DType dtype_of_numbers() const { return is_integer ? DType::i64 : DType::f64; }
  bool operator==(const ColumnKind&) const = default;
};

// Writes the field as a number or bool of size_of(dtype) bytes to `out`; false when it is not one or does not
// fit. Blanks around it are ignored. Floats are rounded to nearest; those too large become infinite.
bool parse_number(std::string_view field, DType dtype, std::byte* out);
// The same for the common spelling of numbers; false for any other, which parse_number() must try.
using ParsePlain = bool (*)(std::string_view field, std::byte* out);
ParsePlain parse_plain(DType dtype);  // null for a dtype that has none

// Whether float64 holds a whole number in digits: exactly, or as programs print floats that are whole, with
// the fewest digits that read back the same, and zeros behind ("1152921504606847000", as JavaScript prints
// 2^60). True for numbers with a point or an exponent, which are floats already.
bool float64_holds(std::string_view field);
// The same, where the number is at `value` as it was parsed. Quick: below 2^53 every whole number is held.
inline bool is_held(std::string_view field, const std::byte* value) {
  double number = 0;
  std::memcpy(&number, value, sizeof number);
  return (number < 0x1p53 && number > -0x1p53) || float64_holds(field);
}
// The end of a message about one that it does not hold: how the column can be read.
std::string how_to_read_rounded(std::string_view column);

}  // namespace headrace
