// CRC-32C (Castagnoli) as TFRecord uses it. Pure functions, safe from any thread.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace headrace::trial {

uint32_t crc32c(std::span<const std::byte> bytes);

// TFRecord's masking, so that a CRC stored beside data does not become part of another CRC.
inline uint32_t masked(uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }

}  // namespace headrace::trial
