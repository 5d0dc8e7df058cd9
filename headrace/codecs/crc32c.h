// CRC-32C (Castagnoli), the checksum of TFRecord and other formats. Pure functions; any thread.
//
// Uses the processor's instruction where it exists, on three streams at once; otherwise a table, which gives
// the same result.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace headrace {

uint32_t crc32c(std::span<const std::byte> bytes);
uint32_t crc32c_by_table(std::span<const std::byte> bytes);

}  // namespace headrace
