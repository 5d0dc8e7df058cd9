// What becomes of nulls in files of columns, which is the option `nulls`: "error", "zero" or "nan", for all
// columns or by column, {"caption": "zero"}.
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
  // For each field; a name stands for all below it, as that of a struct does. One that is not there is an
  // error. `nan` is of floats alone: others of which it was said refuse nulls.
  Result<std::vector<Nulls>> of_fields(const Schema& schema) const;

 private:
  Nulls others_ = Nulls::error;
  std::vector<std::pair<std::string, Nulls>> named_;
};

// What a fingerprint says of them: nothing where all are errors.
std::string text_of(const std::vector<Nulls>& nulls, const Schema& schema);

// What a message says behind "got null": how to read it, where a number of this type is NaN or else.
std::string null_is_read(bool may_be_nan);
// REQUIRES: is_float(dtype), and whole numbers.
void fill_nan(DType dtype, std::span<std::byte> out);

}  // namespace headrace
