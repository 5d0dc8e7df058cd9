// Blocks for which only an upper bound of the unpacked size is known. Any thread.
#pragma once
#include <cstddef>
#include <span>

#include "headrace/core/status.h"

namespace headrace {

// Unpacks all of `in` to the front of `out`; returns the number of bytes. Output that exceeds `out` is an
// error.
Result<size_t> unpack_zstd_within(std::span<const std::byte> in, std::span<std::byte> out);
Result<size_t> unpack_lz4_within(std::span<const std::byte> in, std::span<std::byte> out);  // a raw block

}  // namespace headrace
