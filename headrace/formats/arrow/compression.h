// Compressed buffers of record batches: LZ4 frames and zstd, each behind the length it unpacks to.
#pragma once
#include <vector>

#include "headrace/core/buffer.h"
#include "headrace/formats/arrow/message.h"

namespace headrace::arrow {

// What a batch may stand for, beside its bytes. A column of equal values shrinks by far more than 1000:1, so
// up to kFree no ratio is asked for.
inline constexpr uint64_t kMaxRatio = 1000, kFree = uint64_t{256} << 20;

// A part of a buffer, shared.
struct Bytes {
  BufferPtr buffer;
  size_t offset = 0, size = 0;
  const std::byte* data() const { return buffer->data() + offset; }
  std::span<const std::byte> span() const { return {data(), size}; }
};

// Each of `stored` without its compression; those stored as they are share their bytes. What they say they
// unpack to is added up and refused before any memory is taken.
Result<std::vector<Bytes>> inflate(Codec codec, std::vector<Bytes> stored);

// The way back, of one buffer, to the end of `out`: as it is where that is shorter. Of nothing comes nothing.
Status deflate(Codec codec, std::span<const std::byte> bytes, std::vector<std::byte>& out);

}  // namespace headrace::arrow
