#include "headrace/formats/columns.h"

#include <algorithm>
#include <optional>

#include "headrace/core/text/text.h"
#include "headrace/core/value.h"

namespace headrace {
namespace {

// The x of fields i and i + 1 if they are "x/values" and "x/lengths": strings and their lengths.
std::optional<std::string_view> texts_at(const std::vector<std::string>& names,
                                         const std::vector<TensorSpec>& specs, size_t i) {
  constexpr std::string_view kValues = "/values";
  if (i + 1 >= names.size() || !names[i].ends_with(kValues)) return std::nullopt;
  const std::string_view name = std::string_view(names[i]).substr(0, names[i].size() - kValues.size());
  const bool are_one = names[i + 1] == std::string(name) + "/lengths";
  const bool are_texts = is_text(specs[i].dtype) && specs[i].shape == Shape{kAny} &&
                         specs[i + 1] == TensorSpec{DType::i64, {kAny}};
  if (!are_one || !are_texts || std::ranges::find(names, name) != names.end()) return std::nullopt;
  return name;
}

// Whether this first byte of a string is inside a UTF-8 character.
bool is_within_character(std::byte first) { return (first & std::byte{0xC0}) == std::byte{0x80}; }

}  // namespace

Status FieldColumn::check(const std::vector<Tensor>& fields) const {
  if (!is_texts) return {};
  const View value = this->value(fields);
  const uint64_t size = value.size_bytes();
  uint64_t at = 0;
  const auto wrong = [&](const std::string& wanted, const std::string& got) {
    return invalid({.expected = "lengths that " + wanted, .got = got}).in_field(name);
  };
  const std::string add_up = "add up to the " + std::to_string(size) + " bytes of its strings";
  for (int64_t i = 0; i < num_texts(fields); ++i) {
    const int64_t length = this->length(fields, i);
    if (length < 0 || static_cast<uint64_t>(length) > size - at)
      return wrong(add_up,
                   "a length of " + std::to_string(length) + " after " + std::to_string(at) + " bytes");
    if (value.dtype == DType::str && length > 0 && is_within_character(value.data[at]))
      return wrong("end between characters",
                   "one that ends inside a character, at byte " + std::to_string(at));
    at += static_cast<uint64_t>(length);
  }
  return at == size ? Status() : wrong(add_up, std::to_string(at));
}

std::vector<FieldColumn> columns_of(const std::vector<std::string>& names,
                                    const std::vector<TensorSpec>& specs) {
  std::vector<FieldColumn> out;
  for (size_t i = 0; i < names.size(); ++i) {
    if (const auto texts = texts_at(names, specs, i)) {
      out.push_back({std::string(*texts), specs[i], i, true});
      ++i;
    } else {
      out.push_back({names[i], specs[i], i});
    }
  }
  return out;
}

Schema schema_of(std::vector<std::string> names, std::vector<TensorSpec> specs) {
  Value::Object structure;
  for (FieldColumn& column : columns_of(names, specs)) {
    const auto at = [](size_t field) { return Value(static_cast<int64_t>(field)); };
    const auto first = at(column.field);
    structure.emplace_back(
        std::move(column.name),
        column.is_texts ? Value(Value::Object{{"values", first}, {"lengths", at(column.field + 1)}}) : first);
  }
  return {std::move(names), std::move(specs), Value(std::move(structure)).dump()};
}

}  // namespace headrace
