// Compressed buffers of record batches: LZ4 frames and zstd, each after its decompressed length.
#pragma once
#include <vector>

#include "headrace/core/buffer.h"
#include "headrace/formats/arrow/message.h"

namespace headrace::arrow {

// Limit on the decompressed size of a batch relative to its bytes. A column of equal values shrinks by far
// more than 1000:1, so up to kFree bytes no ratio is required.
inline constexpr uint64_t kMaxRatio = 1000, kFree = uint64_t{256} << 20;

// A part of a buffer, shared.
struct Bytes {
  BufferPtr buffer;
  size_t offset = 0, size = 0;
  const std::byte* data() const { return buffer->data() + offset; }
  std::span<const std::byte> span() const { return {data(), size}; }
};

// Each of `stored` decompressed; those stored uncompressed share their bytes. The stated decompressed sizes
// are added up and refused before any memory is allocated.
Result<std::vector<Bytes>> inflate(Codec codec, std::vector<Bytes> stored);

// Compresses one buffer to the end of `out`; stored as it is where that is shorter. Empty input appends
// nothing.
Status deflate(Codec codec, std::span<const std::byte> bytes, std::vector<std::byte>& out);

}  // namespace headrace::arrow
