// The frame of one TFRecord: u64 length, u32 masked CRC-32C of these eight bytes, the data, u32 masked
// CRC-32C of the data; all little-endian. Pure functions; any thread.
#pragma once
#include <cstdint>
#include <span>

#include "headrace/core/status.h"

namespace headrace {

inline constexpr uint64_t kTfrecordHeader = 12, kTfrecordFooter = 4;
inline constexpr uint64_t kTfrecordFrame = kTfrecordHeader + kTfrecordFooter;
inline constexpr uint64_t kMostTfrecord = uint64_t{1} << 31;  // bytes of data

uint32_t masked_crc32c(std::span<const std::byte> bytes);

// The length of the framed record that begins with `header`, when `left` bytes are left from its first byte
// on. REQUIRES: header.size() >= kTfrecordHeader.
Result<uint64_t> framed_length(std::span<const std::byte> header, uint64_t left);

// The data of a framed record, which the bytes must be in full. `verify`: its checksum is checked, too.
Result<std::span<const std::byte>> tfrecord_data(std::span<const std::byte> framed, bool verify);

// Whether these bytes, a copy of its data, have the checksum that stands behind them in a framed record,
// which the bytes must be in full.
bool is_tfrecord_data(std::span<const std::byte> data, std::span<const std::byte> framed);

}  // namespace headrace
