#include "headrace/graph/plan/plan_members.h"

#include <algorithm>

namespace headrace {
namespace {

std::string listed(std::span<const std::string_view> required, std::span<const std::string_view> optional) {
  std::string out;
  for (const auto names : {required, optional})
    for (const std::string_view name : names) out += (out.empty() ? "" : ", ") + std::string(name);
  return out.empty() ? "none" : out;
}

}  // namespace

Status check_members(const Value& value, std::string_view what, std::span<const std::string_view> required,
                     std::span<const std::string_view> optional) {
  const std::string text(what);
  if (!value.object()) return invalid(text + " must be an object, got " + value.dump());
  for (const auto& [key, item] : *value.object())
    if (std::ranges::find(required, key) == required.end() &&
        std::ranges::find(optional, key) == optional.end())
      return invalid(text + " has no member '" + key + "'; its members are: " + listed(required, optional));
  for (const std::string_view key : required)
    if (!value.find(key)) return invalid(text + ": '" + std::string(key) + "' is missing");
  return {};
}

}  // namespace headrace
