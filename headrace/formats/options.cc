#include "headrace/formats/options.h"

#include <algorithm>

#include "headrace/core/text/closest.h"

namespace headrace {
namespace {

Status wrong_type(std::string_view option, std::string_view wanted, const Value& got) {
  return invalid({.expected = std::string(wanted), .got = got.dump()}).in_option(option);
}

}  // namespace

std::string no_option(std::string_view wrong, std::span<const std::string_view> known) {
  std::string names;
  for (const std::string_view name : known) names += (names.empty() ? "" : ", ") + std::string(name);
  const std::string meant = did_you_mean(wrong, known);
  std::string out = "has no option '" + std::string(wrong) + "'" + meant;
  if (known.empty())
    out += "; it takes no options";
  else
    out += meant.empty() ? "; it has " + names : " (it has " + names + ")";
  // Options that users know from other libraries.
  if (wrong == "where") out += "; to keep samples by a condition, call filter(...) after reading";
  if (wrong == "encoding" && std::ranges::find(known, "dtypes") != known.end())
    out += "; text must be UTF-8; dtypes={\"name\": \"bytes\"} reads a column as raw bytes";
  return out;
}

Status no_such_column(std::string_view option, std::string_view wrong,
                      std::span<const std::string_view> names) {
  constexpr size_t kLongest = 100;  // bytes of a name in a message
  return invalid({.expected = "names of columns (" + first_names(names) + ")",
                  .got = "'" + std::string(wrong.substr(0, kLongest)) + "'" +
                         (wrong.size() > kLongest ? "" : did_you_mean(wrong, names))})
      .in_option(option);
}

std::string no_option(std::string_view wrong, const std::vector<OptionInfo>& known) {
  return no_option(wrong,
                   names_of_all(known, [](const OptionInfo& one) { return std::string_view(one.name); }));
}

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

Result<std::vector<std::string>> GivenOptions::strings(std::string_view option) const {
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
