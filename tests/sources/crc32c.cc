#include "tests/sources/crc32c.h"

#include <array>

namespace headrace::trial {
namespace {

constexpr std::array<uint32_t, 256> kTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0x82F63B78u : 0u);
    table[i] = crc;
  }
  return table;
}();

}  // namespace

uint32_t crc32c(std::span<const std::byte> bytes) {
  uint32_t crc = ~0u;
  for (const std::byte b : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<uint32_t>(b)) & 0xff];
  return ~crc;
}

}  // namespace headrace::trial
