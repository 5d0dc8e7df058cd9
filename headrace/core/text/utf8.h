// Whether bytes are UTF-8. Pure; any thread.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace headrace {

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // what some write at the head of a file

// Whether a text begins with the mark of UTF-16, which others write at the head of a file, and read as UTF-8
// is none.
inline bool begins_as_utf16(std::string_view text) {
  return text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
}

// How many of the first bytes are whole characters of UTF-8: all of them, or those before the first that is
// none. Surrogates and what could be written shorter are none.
size_t utf8_prefix(std::string_view text);

// The same characters a byte each, where all are below U+0100; false where one is not, or is no UTF-8.
bool utf8_to_latin1(std::string_view text, std::string& out);

}  // namespace headrace
