// One deflated stream that is in memory as a whole, unpacked at once: members of archives, blocks of images.
// Any thread.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "headrace/core/status.h"

namespace headrace {

enum class DeflateFrame : uint8_t {
  raw,
  zlib,
  gzip_or_zlib,  // detected from the header; several members in a row are one stream, trailing zeros are
                 // ignored
};

// Unpacks all of `in` to the front of `out`; returns the number of bytes. Output that exceeds `out` is an
// error, and so are bytes after the stream's end.
Result<size_t> inflate_whole(DeflateFrame frame, std::span<const std::byte> in, std::span<std::byte> out);

// The checksum of gzip and zip.
uint32_t crc32_of(std::span<const std::byte> bytes);

}  // namespace headrace
