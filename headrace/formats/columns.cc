#include "headrace/formats/columns.h"

#include <algorithm>
#include <optional>

namespace headrace {
namespace {

// The x of the fields "x/values" and "x/lengths" at i and behind it, when they are texts and their lengths.
std::optional<std::string_view> list_at(const std::vector<std::string>& names,
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

}  // namespace

Schema schema_of(std::vector<std::string> names, std::vector<TensorSpec> specs) {
  Value::Object structure;
  for (size_t i = 0; i < names.size(); ++i) {
    const auto at = [&](size_t field) { return Value(static_cast<int64_t>(field)); };
    if (const auto list = list_at(names, specs, i)) {
      structure.emplace_back(std::string(*list), Value::Object{{"values", at(i)}, {"lengths", at(i + 1)}});
      ++i;
    } else {
      structure.emplace_back(names[i], at(i));
    }
  }
  return {std::move(names), std::move(specs), Value(std::move(structure)).dump()};
}

}  // namespace headrace
