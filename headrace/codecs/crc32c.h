// CRC-32C (Castagnoli), the checksum of TFRecord and its like. Pure functions; any thread.
//
// By the processor's own instruction where it has one, three streams at a time; else, and as the twin it must
// equal, by a table.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace headrace {

uint32_t crc32c(std::span<const std::byte> bytes);
uint32_t crc32c_by_table(std::span<const std::byte> bytes);

}  // namespace headrace
