// Bytes that were compressed as a whole, and whose size is known: zstd frames, gzip and zlib (several in a
// row), raw blocks of snappy and lz4, brotli, blosc and bzip2 where their libraries are there. Pure
// functions; any thread.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "headrace/core/buffer.h"
#include "headrace/core/status.h"

namespace headrace {

enum class Packed : uint8_t { plain, zstd, deflate, snappy, brotli, blosc, lz4, bzip2 };
inline constexpr size_t kPackings = 8;

// Before any memory is taken: a ratio of at most 1000, or 256 MiB where that is more, and never above 2 GiB.
Status check_unpacked_size(uint64_t packed, uint64_t unpacked);

// Fills `out` to its end, or returns why not.
Status unpack(Packed kind, std::span<const std::byte> packed, std::span<std::byte> out);
// The same into memory of its own, the size checked first.
Result<BufferPtr> unpack(Packed kind, std::span<const std::byte> packed, uint64_t size);

// The sum of the unpacked sizes that zstd's frames state; nothing where one does not state it.
std::optional<uint64_t> zstd_unpacked_size(std::span<const std::byte> packed);

// The content of a zstd frame that stores it uncompressed: one raw block, as for bytes that do not get
// smaller. Nothing for any other frame, one with a checksum or with trailing bytes, or data that is not a
// frame.
std::optional<std::span<const std::byte>> stored_in_zstd(std::span<const std::byte> packed);

// A library that may be absent is registered with one of these, filled before main().
struct UnpackRegistration {
  using Function = Status (*)(std::span<const std::byte> packed, std::span<std::byte> out);
  UnpackRegistration(Packed kind, Function function);
};

// Snappy's raw block.
Status unpack_snappy(std::span<const std::byte> packed, std::span<std::byte> out);

}  // namespace headrace
