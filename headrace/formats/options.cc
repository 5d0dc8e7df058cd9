#include "headrace/formats/options.h"

namespace headrace {
namespace {

Status wrong_type(std::string_view option, std::string_view wanted, const Value& got) {
  return invalid(std::string(option) + " wants " + std::string(wanted) + ", got " + got.dump());
}

}  // namespace

Result<std::string> GivenOptions::text(std::string_view option, std::string fallback) const {
  const Value* v = options.find(option);
  if (!v || v->is_null()) return fallback;
  if (!v->text()) return wrong_type(option, "a str", *v);
  return *v->text();
}

Result<int64_t> GivenOptions::integer(std::string_view option, int64_t fallback) const {
  const Value* v = options.find(option);
  if (!v || v->is_null()) return fallback;
  if (!v->integer()) return wrong_type(option, "an int", *v);
  return *v->integer();
}

Result<bool> GivenOptions::flag(std::string_view option, bool fallback) const {
  const Value* v = options.find(option);
  if (!v || v->is_null()) return fallback;
  if (!v->boolean()) return wrong_type(option, "a bool", *v);
  return *v->boolean();
}

Result<std::vector<std::string>> GivenOptions::texts(std::string_view option) const {
  std::vector<std::string> out;
  const Value* v = options.find(option);
  if (!v || v->is_null()) return out;
  if (!v->list()) return wrong_type(option, "a list of str", *v);
  for (const Value& item : *v->list()) {
    if (!item.text()) return wrong_type(option, "a list of str", *v);
    out.push_back(*item.text());
  }
  return out;
}

}  // namespace headrace
