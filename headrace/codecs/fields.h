// Numbers in file headers, read within bounds. Free functions for codecs that parse headers themselves.
#pragma once
#include <cstddef>
#include <cstdint>
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

inline std::string_view characters_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace headrace
