// What the subcommands print as text: strings among the arguments may be names from a data set, so control
// characters and line ends in them are escaped. JSON is printed as it is, by fmt::print.
#pragma once
#include <fmt/core.h>

#include <cstdio>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "headrace/core/text/text.h"

namespace headrace::cli {

// An argument of several lines of our own, whose line ends stay.
struct Lines {
  std::string text;
};

template <class T> inline constexpr bool kIsString =
    std::is_convertible_v<const std::remove_cvref_t<T>&, std::string_view> ||
    std::is_same_v<std::remove_cvref_t<T>, Lines>;
template <class T> using Said = std::conditional_t<kIsString<T>, std::string, const std::remove_cvref_t<T>&>;

template <class T> Said<T> said(const T& value) {
  if constexpr (std::is_same_v<T, Lines>)
    return printable_lines(value.text);
  else if constexpr (kIsString<T>)
    return printable(std::string_view(value));
  else
    return value;
}

template <class... Args>
std::string said_as(fmt::format_string<Said<Args>...> format, const Args&... values) {
  return fmt::format(format, said(values)...);
}
template <class... Args>
void say(std::FILE* to, fmt::format_string<Said<Args>...> format, const Args&... values) {
  const std::string text = said_as<Args...>(format, values...);
  std::fwrite(text.data(), 1, text.size(), to);
}
template <class... Args> void say(fmt::format_string<Said<Args>...> format, const Args&... values) {
  say<Args...>(stdout, format, values...);
}

}  // namespace headrace::cli
