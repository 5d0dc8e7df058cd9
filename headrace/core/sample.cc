#include "headrace/core/sample.h"

#include "headrace/core/value.h"

namespace headrace {

int Schema::find(std::string_view name) const {
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<int>(i);
  return -1;
}

std::string Schema::text() const {
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += ", ";
    out += names[i] + ": " + specs[i].text();
  }
  return out;
}

std::string Schema::stable_text() const {
  std::string out;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) out += ", ";
    out += names[i] + ": " + specs[i].stable_text();
  }
  return out;
}

Schema Schema::of(std::vector<std::string> names, std::vector<TensorSpec> specs) {
  Value::Object object;
  for (size_t i = 0; i < names.size(); ++i) object.emplace_back(names[i], Value(static_cast<int64_t>(i)));
  return {std::move(names), std::move(specs), Value(std::move(object)).dump()};
}

}  // namespace headrace
