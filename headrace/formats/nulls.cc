#include "headrace/formats/nulls.h"

#include <algorithm>

#include "headrace/core/text.h"

namespace headrace {
namespace {

Result<Nulls> rule_of(const Value& given) {
  if (const std::string* text = given.text()) {
    if (*text == "error") return Nulls::error;
    if (*text == "zero") return Nulls::zero;
  }
  return invalid("nulls wants \"error\" or \"zero\", or a dict of these by column, got " + given.dump());
}

bool is_below(std::string_view field, std::string_view name) {
  return field == name || (field.starts_with(name) && field[name.size()] == '/');
}

std::string known(const Schema& schema) {
  constexpr size_t kShown = 20;
  std::string out;
  for (size_t i = 0; i < std::min(schema.size(), kShown); ++i)
    out += (i == 0 ? "" : ", ") + schema.names[i].substr(0, 100);
  return schema.size() > kShown ? out + ", …" : out;
}

}  // namespace

OptionInfo nulls_option() {
  return {
      "nulls", "str | dict",
      "\"error\" refuses a sample with a null; \"zero\" reads zeros, or nothing where the length is free. "
      "For some columns: {\"caption\": \"zero\"}.",
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
      return invalid("nulls wants names of columns (" + known(schema) + "), got " +
                     in_quotes(name.substr(0, 100)));
  }
  return out;
}

std::string text_of(const std::vector<Nulls>& nulls, const Schema& schema) {
  std::string zeros;
  for (size_t i = 0; i < nulls.size(); ++i)
    if (nulls[i] == Nulls::zero) zeros += (zeros.empty() ? " of " : ", ") + schema.names[i];
  if (zeros.empty()) return {};
  return std::ranges::count(nulls, Nulls::zero) == std::ssize(nulls) ? " nulls=zero" : " nulls=zero" + zeros;
}

}  // namespace headrace
