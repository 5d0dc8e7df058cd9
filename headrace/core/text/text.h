// Strings in messages, in lower case, and as bytes.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace headrace {

// A name from outside as messages show it: control characters, line ends and what changes the direction of
// writing are escaped (\x1b, \n, \u202e), so that a name can neither command a terminal nor forge a line of
// output. The one place that does so; JSON has its own escapes.
std::string printable(std::string_view text);
// The same for a whole message, whose line ends are its own.
std::string printable_lines(std::string_view text);

// 'like this', printable. Not named `quoted`: where <iomanip> is included, std::string makes std::quoted
// visible.
inline std::string in_quotes(std::string_view text) { return "'" + printable(text) + "'"; }

inline std::span<const std::byte> text_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

// Of ASCII letters; other characters stay as they are, whatever the locale.
inline char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
inline std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lower_case(c);
  return out;
}

}  // namespace headrace
