// Bytes that were compressed as a whole, and whose size is known: zstd's frames, gzip and zlib one after the
// other, raw blocks of snappy and lz4, brotli and blosc where their libraries are there. Pure functions; any
// thread.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "headrace/core/buffer.h"
#include "headrace/core/status.h"

namespace headrace {

enum class Packed : uint8_t { plain, zstd, deflate, snappy, brotli, blosc, lz4 };
inline constexpr size_t kPackings = 7;

// Before any memory is taken: a ratio of at most 1000, or 256 MiB where that is more, and never above 2 GiB.
Status check_unpacked_size(uint64_t packed, uint64_t unpacked);

// Fills `out` to its end, or says why not.
Status unpack(Packed kind, std::span<const std::byte> packed, std::span<std::byte> out);
// The same into memory of its own, the size checked first.
Result<BufferPtr> unpack(Packed kind, std::span<const std::byte> packed, uint64_t size);

// The sum of what zstd's frames say they unpack to; nothing where one does not say.
std::optional<uint64_t> zstd_unpacked_size(std::span<const std::byte> packed);

// What a frame of zstd holds, where it stands in the frame as it is: one raw block, as bytes become that get
// no smaller. Nothing of any other frame, of one with a checksum or more behind it, or of no frame.
std::optional<std::span<const std::byte>> stored_in_zstd(std::span<const std::byte> packed);

// A library that may be absent says that it is there with one of these, filled before main().
struct UnpackRegistration {
  using Function = Status (*)(std::span<const std::byte> packed, std::span<std::byte> out);
  UnpackRegistration(Packed kind, Function function);
};

// Snappy's raw block.
Status unpack_snappy(std::span<const std::byte> packed, std::span<std::byte> out);

}  // namespace headrace
