#include "headrace/formats/nulls.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "headrace/core/text/closest.h"

namespace headrace {
namespace {

Result<Nulls> rule_of(const Value& given) {
  if (const std::string* text = given.text()) {
    if (*text == "error") return Nulls::error;
    if (*text == "zero") return Nulls::zero;
    if (*text == "nan") return Nulls::nan;
  }
  return invalid("nulls: expected \"error\", \"zero\" or \"nan\", or a dict of these by column, got " +
                 given.dump());
}

bool is_below(std::string_view field, std::string_view name) {
  return field == name || (field.starts_with(name) && field[name.size()] == '/');
}

}  // namespace

OptionInfo nulls_option() {
  return {"nulls",
          "Literal[\"error\", \"zero\", \"nan\"] | Mapping[str, Literal[\"error\", \"zero\", \"nan\"]]",
          "\"error\" makes a null an error of its sample; \"zero\" reads zeros, or empty values for variable "
          "lengths; \"nan\" reads NaN for floats and is \"error\" for others. Or per column: `{\"caption\": "
          "\"zero\", \"price\": \"nan\"}`.",
          "error"};
}

Result<NullRules> NullRules::of(const GivenOptions& options) {
  NullRules out;
  const Value* given = options.options.find("nulls");
  if (!given || given->is_null()) return out;
  if (const Value::Object* by_column = given->object()) {
    for (const auto& [name, rule] : *by_column) {
      HEADRACE_ASSIGN(const Nulls nulls, rule_of(rule));
      out.named_.emplace_back(name, nulls);
    }
    return out;
  }
  HEADRACE_ASSIGN(out.others_, rule_of(*given));
  return out;
}

Result<std::vector<Nulls>> NullRules::of_fields(const Schema& schema) const {
  std::vector<Nulls> out(schema.size(), others_);
  for (const auto& [name, nulls] : named_) {
    bool is_there = false;
    for (size_t i = 0; i < out.size(); ++i)
      if (is_below(schema.names[i], name)) out[i] = nulls, is_there = true;
    if (!is_there)
      return invalid("nulls: " + no_such_column(name, std::vector<std::string_view>(schema.names.begin(),
                                                                                    schema.names.end())));
  }
  for (size_t i = 0; i < out.size(); ++i)
    if (out[i] == Nulls::nan && !is_float(schema.specs[i].dtype)) out[i] = Nulls::error;
  return out;
}

std::string text_of(const std::vector<Nulls>& nulls, const Schema& schema) {
  std::string out;
  for (const auto& [rule, name] : {std::pair{Nulls::zero, "zero"}, {Nulls::nan, "nan"}}) {
    std::string named;
    for (size_t i = 0; i < nulls.size(); ++i)
      if (nulls[i] == rule) named += (named.empty() ? " of " : ", ") + schema.names[i];
    if (named.empty()) continue;
    out += std::string(" nulls=") + name;
    if (std::ranges::count(nulls, rule) != std::ssize(nulls)) out += named;
  }
  return out;
}

std::string null_is_read(bool may_be_nan) {
  return may_be_nan ? "; nulls=\"zero\" reads it as zeros and nulls=\"nan\" as NaN"
                    : "; nulls=\"zero\" reads it as zeros or as empty";
}

void fill_nan(DType dtype, std::span<std::byte> out) {
  const size_t size = size_of(dtype);
  uint64_t bits = 0;  // quiet, positive, without a payload
  switch (dtype) {
    case DType::f16: bits = 0x7e00; break;
    case DType::bf16: bits = 0x7fc0; break;
    case DType::f32: bits = 0x7fc00000; break;
    default: bits = 0x7ff8000000000000;
  }
  for (size_t at = 0; at + size <= out.size(); at += size) std::memcpy(out.data() + at, &bits, size);
}

}  // namespace headrace
