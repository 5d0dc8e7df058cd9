// Attributes of variables, as netCDF files, HDF5 files and xarray's Zarr stores have them, and what the CF
// conventions say about values: scale_factor, add_offset, _FillValue, missing_value and _Unsigned. Values are
// decoded as xarray does. Pure; any thread.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "headrace/core/dtype.h"
#include "headrace/core/value.h"
#include "headrace/formats/meaning/field_change.h"
#include "headrace/formats/options.h"

namespace headrace {

inline constexpr size_t kMostAttributes = 4096;  // of a variable or a group; with more, none is read

using AttributeNumber = std::variant<int64_t, uint64_t, double>;

struct Attribute {
  std::string name;
  DType dtype = DType::f64;  // of the numbers; str: there are texts instead
  std::vector<AttributeNumber> numbers = {};
  std::vector<std::string> texts = {};
  bool is_single = true;  // one value, and not a list

  bool operator==(const Attribute&) const = default;
};
const Attribute* find_attribute(std::span<const Attribute> attributes, std::string_view name);
// The only text of an attribute; "" if there is none.
std::string text_attribute(std::span<const Attribute> attributes, std::string_view name);

// From JSON: numbers are int64 or float64. Nothing for values of other types.
std::optional<Attribute> attribute_of(std::string_view name, const Value& value);
Value value_of(const Attribute& attribute);

struct Decoding {
  DType dtype;         // of the decoded values
  FieldChange change;  // of stored ones
};
// Nothing if the attributes do not say that values of this dtype are to be decoded.
std::optional<Decoding> decoding_of(DType stored, std::span<const Attribute> attributes);
// Whether it is one of the five attributes above.
bool is_of_decoding(std::string_view attribute);
// Whether values are numbers of another unit: there is a scale_factor or an add_offset.
bool is_packed(std::span<const Attribute> attributes);
// "packed with scale_factor 0.5": the same text for the same packing; "" if values are not packed.
std::string packing_text(std::span<const Attribute> attributes);
// "days since 1900-01-01, calendar noleap"; "" if there is no unit.
std::string unit_text(std::span<const Attribute> attributes);

// Keeps the members of `mine` that `other` has too, with the same values.
void keep_same(const Value& other, Value& mine);
// The same for each field of {"field": {…}}.
void keep_same_of_fields(const Value& other, Value& mine);

// The option `raw`: whether values are read as they are stored; not given: unless `decoded_in` is read.
OptionInfo raw_option_info(const std::string& decoded_in);
Result<std::optional<bool>> raw_option(const GivenOptions& options);

}  // namespace headrace
