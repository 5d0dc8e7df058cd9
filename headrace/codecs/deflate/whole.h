// One deflated stream that lies in memory whole, unpacked at once: members of archives, blocks of images. Any
// thread.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "headrace/core/status.h"

namespace headrace {

enum class DeflateFrame : uint8_t {
  raw,
  zlib,
  gzip_or_zlib,  // as its head says; several one after the other are one, and zeros behind them nothing
};

// All that `in` unpacks to, at the front of `out`: how many bytes these are. More than `out` holds is an
// error, and so are bytes behind the stream's end.
Result<size_t> inflate_whole(DeflateFrame frame, std::span<const std::byte> in, std::span<std::byte> out);

// The checksum of gzip and zip.
uint32_t crc32_of(std::span<const std::byte> bytes);

}  // namespace headrace
