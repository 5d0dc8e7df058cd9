// What becomes of nulls, in every format and maker that knows them: the option `nulls`, "error", "zero",
// "nan" or "mask", for all columns or by column, {"caption": "zero"}. This is the only place that decides it.
#pragma once
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/core/sample.h"
#include "headrace/formats/options.h"
#include "headrace/formats/source.h"

namespace headrace {

// mask: as zero, and a field of bool tells which values were there.
enum class Nulls : uint8_t { error, zero, nan, mask };

std::string_view null_rule_name(Nulls nulls);  // as in the option

OptionInfo nulls_option(std::string what_is_null = "");

class NullRules {
 public:
  static Result<NullRules> of(const GivenOptions& options);
  static Result<NullRules> of(const Value& given);
  // The rule of each field; a name applies to all fields below it, as that of a struct. An unknown name is an
  // error. `nan` applies to floats only: for other fields it means `error`.
  Result<std::vector<Nulls>> of_fields(const Schema& schema) const;

 private:
  Nulls others_ = Nulls::error;
  std::vector<std::pair<std::string, Nulls>> named_;
};

// Whether null items of a list are an error: one bool cannot tell which of them were there.
inline bool refuses_items(Nulls nulls) { return nulls == Nulls::error || nulls == Nulls::mask; }

// What a fingerprint records of them; empty if all are `error`.
std::string text_of(const std::vector<Nulls>& nulls, const Schema& schema);

// What to do about "got null": how to read it; `may_be_nan`: the type is a float.
std::string null_is_read(bool may_be_nan);
// The same for null items of a list.
std::string null_item_is_read(bool may_be_nan);
// REQUIRES: is_float(dtype), and `out` holds a whole number of elements.
void fill_nan(DType dtype, std::span<std::byte> out);
// What a null is read as: zeros, NaNs or nothing, in the smallest shape of the spec. REQUIRES: not `error`;
// is_float(spec.dtype) for `nan`.
Tensor read_as(Nulls nulls, const TensorSpec& spec);

// The masks of these fields: "age_valid" of "age", and one of a list of strings, "x_valid" of "x/values" and
// "x/lengths".
struct NullMask {
  std::string name;
  size_t field = 0;  // whose nulls it shows
};
std::string mask_name(std::string_view field);
// An error if a field already has the name of a mask.
Result<std::vector<NullMask>> masks_of(const Schema& schema, std::span<const Nulls> nulls);

// The source with a field of bool behind the others for each rule `mask`: false where the value is null.
// Its blocks tell so by Block::is_null().
Result<SourcePtr> with_masks(SourcePtr source, std::span<const Nulls> nulls);

}  // namespace headrace
