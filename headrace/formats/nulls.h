// What becomes of nulls in files of columns, which is the option `nulls`: "error" or "zero", for all columns
// or by column, {"caption": "zero"}.
#pragma once
#include <string>
#include <vector>

#include "headrace/core/sample.h"
#include "headrace/formats/options.h"

namespace headrace {

enum class Nulls : uint8_t { error, zero };

OptionInfo nulls_option();

class NullRules {
 public:
  static Result<NullRules> of(const GivenOptions& options);
  // For each field; a name stands for all below it, as that of a struct does. One that is not there is an
  // error.
  Result<std::vector<Nulls>> of_fields(const Schema& schema) const;

 private:
  Nulls others_ = Nulls::error;
  std::vector<std::pair<std::string, Nulls>> named_;
};

// What a fingerprint says of them: nothing where all are errors.
std::string text_of(const std::vector<Nulls>& nulls, const Schema& schema);

}  // namespace headrace
