#include "headrace/core/sample.h"

#include "headrace/core/value.h"

namespace headrace {

int Schema::find(std::string_view name) const {
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<int>(i);
  return -1;
}

namespace {

std::string fields_text(const Schema& schema, std::string (TensorSpec::*text)() const) {
  std::string out;
  for (size_t i = 0; i < schema.names.size(); ++i) {
    if (i > 0) out += ", ";
    out += schema.names[i] + ": " + (schema.specs[i].*text)();
  }
  return out;
}

}  // namespace

std::string Schema::text() const { return fields_text(*this, &TensorSpec::text); }
std::string Schema::stable_text() const { return fields_text(*this, &TensorSpec::stable_text); }

Schema Schema::of(std::vector<std::string> names, std::vector<TensorSpec> specs) {
  Value::Object object;
  for (size_t i = 0; i < names.size(); ++i) object.emplace_back(names[i], Value(static_cast<int64_t>(i)));
  return {std::move(names), std::move(specs), Value(std::move(object)).dump()};
}

}  // namespace headrace
