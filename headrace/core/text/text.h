// Strings in messages, in lower case, and as bytes.
#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace headrace {

// 'like this'. Not named `quoted`: where <iomanip> is included, std::string makes std::quoted visible.
inline std::string in_quotes(std::string_view text) { return "'" + std::string(text) + "'"; }

inline std::span<const std::byte> text_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

// Of ASCII letters; other characters stay as they are, whatever the locale.
inline char lower_case(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
inline std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = lower_case(c);
  return out;
}

}  // namespace headrace
