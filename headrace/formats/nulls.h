// How nulls in files of columns are read: the option `nulls`, "error", "zero" or "nan", for all columns or by
// column, {"caption": "zero"}.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "headrace/core/sample.h"
#include "headrace/formats/options.h"

namespace headrace {

enum class Nulls : uint8_t { error, zero, nan };

OptionInfo nulls_option();

class NullRules {
 public:
  static Result<NullRules> of(const GivenOptions& options);
  // The rule of each field; a name applies to all fields below it, as that of a struct. An unknown name is an
  // error. `nan` applies to floats only: for other fields it means `error`.
  Result<std::vector<Nulls>> of_fields(const Schema& schema) const;

 private:
  Nulls others_ = Nulls::error;
  std::vector<std::pair<std::string, Nulls>> named_;
};

// What a fingerprint records of them; empty if all are `error`.
std::string text_of(const std::vector<Nulls>& nulls, const Schema& schema);

// The end of a message after "got null": how to read it; `may_be_nan`: the type is a float.
std::string null_is_read(bool may_be_nan);
// REQUIRES: is_float(dtype), and `out` holds a whole number of elements.
void fill_nan(DType dtype, std::span<std::byte> out);

}  // namespace headrace
