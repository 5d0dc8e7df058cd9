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

// The length of the framed record that begins with `header`, with `left` bytes from its first byte to the
// end. REQUIRES: header.size() >= kTfrecordHeader.
Result<uint64_t> framed_length(std::span<const std::byte> header, uint64_t left);

// The data of a framed record; `framed` must be all of it. `verify`: checks their checksum, too.
Result<std::span<const std::byte>> tfrecord_data(std::span<const std::byte> framed, bool verify);

// Whether `data`, a copy of a record's data, match the checksum in `framed`, which must be all of the record.
bool is_tfrecord_data(std::span<const std::byte> data, std::span<const std::byte> framed);

}  // namespace headrace
