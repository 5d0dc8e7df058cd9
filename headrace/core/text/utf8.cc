#include "headrace/core/text/utf8.h"

#include <bit>
#include <cstdint>
#include <cstring>

namespace headrace {
namespace {

constexpr uint64_t kHighBits = 0x8080808080808080u;

uint64_t word_at(const char* at) {
  uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// The first byte from `at` on that is not ASCII; `end` when there is none.
const char* end_of_ascii(const char* at, const char* end) {
  for (; end - at >= 32; at += 32)
    if ((word_at(at) | word_at(at + 8) | word_at(at + 16) | word_at(at + 24)) & kHighBits) break;
  for (; end - at >= 8; at += 8)
    if (const uint64_t high = word_at(at) & kHighBits) return at + std::countr_zero(high) / 8;
  while (at < end && static_cast<unsigned char>(*at) < 0x80) ++at;
  return at;
}

// Bytes of the character at the front of the text; 0 when it is invalid.
size_t character(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first >= 0xC2 && first < 0xE0 && text.size() >= 2) return (byte(1) & 0xC0) == 0x80 ? 2 : 0;
  const size_t length = first < 0x80   ? 1
                        : first < 0xC2 ? 0
                        : first < 0xE0 ? 2
                        : first < 0xF0 ? 3
                        : first < 0xF5 ? 4
                                       : 0;
  if (length == 0 || length > text.size()) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  if (length == 1) return 1;
  const unsigned second = byte(1);
  const bool is_wrong = (first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0) ||
                        (first == 0xF0 && second < 0x90) || (first == 0xF4 && second >= 0x90);
  return is_wrong ? 0 : length;
}

}  // namespace

size_t utf8_prefix(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (true) {
    at = end_of_ascii(at, end);
    if (at == end) break;
    do {  // others come in groups in many scripts
      const size_t length = character({at, static_cast<size_t>(end - at)});
      if (length == 0) return static_cast<size_t>(at - text.data());
      at += length;
    } while (at < end && static_cast<unsigned char>(*at) >= 0x80);
  }
  return text.size();
}

bool utf8_to_latin1(std::string_view text, std::string& out) {
  out.resize(text.size());
  const char* at = text.data();
  const char* const end = at + text.size();
  char* to = out.data();
  while (at < end) {
    if (end - at >= 16) {
      std::memcpy(to, at, 16);
      const uint64_t low = word_at(at) & kHighBits, high = word_at(at + 8) & kHighBits;
      const int plain = low ? std::countr_zero(low) / 8 : high ? 8 + std::countr_zero(high) / 8 : 16;
      at += plain, to += plain;
      if (plain == 16) continue;
    }
    const auto first = static_cast<unsigned char>(*at++);
    if (first < 0x80) {
      *to++ = static_cast<char>(first);
      continue;
    }
    if ((first != 0xC2 && first != 0xC3) || at == end || (*at & 0xC0) != 0x80) return false;
    *to++ = static_cast<char>((first & 3) << 6 | (*at++ & 0x3F));
  }
  out.resize(static_cast<size_t>(to - out.data()));
  return true;
}

}  // namespace headrace
