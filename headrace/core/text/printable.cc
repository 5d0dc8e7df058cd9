#include <cstdint>

#include "headrace/core/text/text.h"

namespace headrace {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";

void append_hex(uint32_t value, int digits, std::string& out) {
  for (int i = digits - 1; i >= 0; --i) out += kHex[(value >> (4 * i)) & 15];
}

// A character of two or three bytes at the start of `text`, and its length; 0 if there is none. Enough for
// those that are escaped.
uint32_t short_character(std::string_view text, size_t& length) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const auto continues = [&](size_t i) { return i < text.size() && (byte(i) & 0xc0) == 0x80; };
  if ((byte(0) & 0xe0) == 0xc0 && continues(1)) {
    length = 2;
    return (byte(0) & 0x1fu) << 6 | (byte(1) & 0x3fu);
  }
  if ((byte(0) & 0xf0) == 0xe0 && continues(1) && continues(2)) {
    length = 3;
    return (byte(0) & 0x0fu) << 12 | (byte(1) & 0x3fu) << 6 | (byte(2) & 0x3fu);
  }
  if ((byte(0) & 0xf8) == 0xf0 && continues(1) && continues(2) && continues(3)) length = 4;
  return 0;
}

// Marks of the direction of writing, and separators of lines and paragraphs.
bool changes_lines(uint32_t character) {
  return character == 0x061c || (character >= 0x200e && character <= 0x200f) ||
         (character >= 0x2028 && character <= 0x202e) || (character >= 0x2066 && character <= 0x2069);
}

std::string escaped(std::string_view text, bool keeps_lines) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto first = static_cast<uint8_t>(text[0]);
    size_t length = 1;
    const uint32_t character = first < 0x80 ? first : short_character(text, length);
    if (keeps_lines && (first == '\n' || first == '\t')) {
      out += text[0];
    } else if (first == '\n' || first == '\r' || first == '\t') {
      out += first == '\n' ? "\\n" : first == '\r' ? "\\r" : "\\t";
    } else if (first < 0x20 || first == 0x7f || (length == 1 && first >= 0x80 && first < 0xa0)) {
      out += "\\x", append_hex(first, 2, out);
    } else if (length == 2 && character >= 0x80 && character < 0xa0) {
      out += "\\x", append_hex(character, 2, out);
    } else if (length > 1 && changes_lines(character)) {
      out += "\\u", append_hex(character, 4, out);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) { return escaped(text, false); }
std::string printable_lines(std::string_view text) { return escaped(text, true); }

}  // namespace headrace
