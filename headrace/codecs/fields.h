// Numbers and boxes in file headers, read within bounds. Free functions for codecs that parse headers
// themselves.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace headrace {

// An unsigned number of `width` bytes at `at`; 0 when the bytes end before it does.
constexpr uint32_t little_endian_at(std::span<const std::byte> bytes, size_t at, size_t width) {
  if (at > bytes.size() || width > bytes.size() - at) return 0;
  uint32_t value = 0;
  for (size_t i = width; i-- > 0;) value = value << 8 | std::to_integer<uint32_t>(bytes[at + i]);
  return value;
}

// The same, of which the first byte counts most.
constexpr uint64_t big_endian_at(std::span<const std::byte> bytes, size_t at, size_t width) {
  if (at > bytes.size() || width > bytes.size() - at) return 0;
  uint64_t value = 0;
  for (size_t i = 0; i < width; ++i) value = value << 8 | std::to_integer<uint64_t>(bytes[at + i]);
  return value;
}

inline std::string_view characters_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// A box of ISO base media files (ISO 14496-12), as JPEG 2000 and AVIF have them.
struct IsoBox {
  std::string_view kind;
  std::span<const std::byte> content;
};

// Takes the next box off the front of `bytes`; one without a size extends to the end, and so does one that is
// longer than what is left, as in a file that was cut off.
inline std::optional<IsoBox> next_iso_box(std::span<const std::byte>& bytes) {
  if (bytes.size() < 8) return std::nullopt;
  const std::string_view kind = characters_of(bytes).substr(4, 4);
  size_t head = 8;
  uint64_t size = big_endian_at(bytes, 0, 4);
  if (size == 1) {
    if (bytes.size() < 16) return std::nullopt;
    head = 16, size = big_endian_at(bytes, 8, 8);
  }
  if (size == 0) size = bytes.size();
  if (size < head) return std::nullopt;
  const size_t taken = static_cast<size_t>(std::min<uint64_t>(size, bytes.size()));
  const IsoBox box{kind, bytes.subspan(head, taken - head)};
  bytes = bytes.subspan(taken);
  return box;
}

}  // namespace headrace
