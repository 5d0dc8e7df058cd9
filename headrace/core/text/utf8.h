// Whether bytes are UTF-8. Pure; any thread.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace headrace {

inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // written at the head of some files

// Whether a text begins with the byte order mark of UTF-16, which is invalid as UTF-8.
inline bool begins_as_utf16(std::string_view text) {
  return text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF");
}

// How many of the first bytes are whole characters of UTF-8: all of them, or those before the first that is
// invalid. Surrogates and overlong forms are invalid.
size_t utf8_prefix(std::string_view text);

// The same characters as one byte each, where all are below U+0100; false where one is not, or the text is
// not UTF-8.
bool utf8_to_latin1(std::string_view text, std::string& out);

}  // namespace headrace
