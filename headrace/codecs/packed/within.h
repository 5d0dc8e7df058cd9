// Blocks of which is only known how much they unpack to at most. Any thread.
#pragma once
#include <cstddef>
#include <span>

#include "headrace/core/status.h"

namespace headrace {

// All that `in` unpacks to, at the front of `out`: how many bytes these are. More than `out` holds is an
// error.
Result<size_t> unpack_zstd_within(std::span<const std::byte> in, std::span<std::byte> out);
Result<size_t> unpack_lz4_within(std::span<const std::byte> in, std::span<std::byte> out);  // a raw block

}  // namespace headrace
