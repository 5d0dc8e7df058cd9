#include "headrace/formats/webdataset/sample_name.h"

#include <algorithm>

#include "headrace/core/text/text.h"

namespace headrace {
namespace {

bool is_about_the_shard(std::string_view member) {
  const std::string_view top = member.substr(0, member.find('/'));
  return top.size() >= 4 && top.starts_with("__") && top.ends_with("__");
}

}  // namespace

std::optional<MemberName> sample_name(std::string_view member) {
  const size_t slash = member.rfind('/');
  const size_t base = slash == std::string_view::npos ? 0 : slash + 1;
  const size_t dot = member.find('.', base);
  if (dot == std::string_view::npos || dot == base || dot + 1 == member.size() || is_about_the_shard(member))
    return std::nullopt;
  return MemberName{member.substr(0, dot), member.substr(dot + 1)};
}

bool lacks_suffix(std::string_view member) {
  constexpr std::string_view kTexts[] = {"authors", "changelog", "copying", "licence",
                                         "license", "makefile",  "notice",  "readme"};
  const std::string_view base = member.substr(member.rfind('/') + 1);
  return !base.empty() && base.find('.') == std::string_view::npos && !is_about_the_shard(member) &&
         std::ranges::find(kTexts, lower_case(base)) == std::end(kTexts);
}

bool is_suffix(std::string_view written, std::string_view lower) {
  return std::ranges::equal(written, lower, {}, [](char c) { return lower_case(c); });
}

}  // namespace headrace
