#include "headrace/core/utf8.h"

#include <cstdint>
#include <cstring>

namespace headrace {
namespace {

size_t ascii_prefix(const char* at, size_t count) {
  constexpr uint64_t kHighBits = 0x8080808080808080u;
  size_t i = 0;
  for (uint64_t word = 0; i + sizeof word <= count; i += sizeof word) {
    std::memcpy(&word, at + i, sizeof word);
    if (word & kHighBits) break;
  }
  while (i < count && static_cast<unsigned char>(at[i]) < 0x80) ++i;
  return i;
}

// Bytes of the character that begins the text; 0 when none does.
size_t character(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
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
  size_t done = 0;
  while (done < text.size()) {
    done += ascii_prefix(text.data() + done, text.size() - done);
    if (done == text.size()) break;
    const size_t length = character(text.substr(done));
    if (length == 0) break;
    done += length;
  }
  return done;
}

}  // namespace headrace
