// The codecs of a chunk, and their inverse. Pure; accepts any bytes; any thread.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headrace/core/buffer.h"
#include "headrace/formats/zarr/element.h"

namespace headrace::zarr {

using Dims = std::vector<uint64_t>;

inline constexpr uint64_t kMostChunkBytes = uint64_t{2} << 30;

struct Chain;

// Chunks in a chunk, with an index of their positions.
struct Sharding {
  Dims chunk;  // of inner chunks
  std::shared_ptr<const Chain> inner;
  bool index_at_end = true, index_has_checksum = false, index_is_big_endian = false;

  uint64_t index_bytes(uint64_t chunks) const;  // saturates
};

// On numbers: undone after the bytes are decoded, for elements in storage order.
struct NumberFilter {
  enum class Kind : uint8_t { delta, scale_offset } kind = Kind::delta;
  DType stored = DType::u8, plain = DType::u8;
  double scale = 1, offset = 0;
};

// From bytes to bytes.
struct Packing {
  enum class Kind : uint8_t { deflate, zstd, blosc, lz4, crc32c, shuffle } kind = Kind::zstd;
  size_t element = 1;  // for shuffle
};

// In the order in which they were applied: `order` first, `packings` last.
struct Chain {
  std::vector<size_t> order;  // stored axis i is axis order[i] of the array
  std::vector<NumberFilter> filters = {};
  bool is_big_endian = false;
  std::shared_ptr<const Sharding> sharding = nullptr;
  std::vector<Packing> packings = {};

  bool is_row_major() const;
  // Whether a stored chunk has the same bytes as in memory.
  bool is_plain(const Element& element) const;
};

// Version 2: `compressor` and `filters` as in .zarray, null where there are none.
Result<Chain> chain_of_v2(const Value& compressor, const Value& filters, bool column_major,
                          const Element& element, const Dims& chunk);
// Version 3: its list of codecs.
Result<Chain> chain_of_v3(const Value& codecs, const Element& element, const Dims& chunk);
// The element type of an array of objects ("|O" in version 2), if its first filter states it.
const DType* objects_of_v2(const Value& filters);

// Bytes between two elements along each axis of a chunk decoded by decode().
Dims strides_of(const Chain& chain, const Dims& chunk, uint64_t element_bytes);
uint64_t product(const Dims& dims);  // saturates

// The numbers of a chunk, little-endian, in storage order. REQUIRES: `out` has exactly their size, and
// elements are not strings.
Status decode(const Chain& chain, const Element& element, const Dims& chunk, const std::string& fill,
              std::span<const std::byte> packed, std::span<std::byte> out);

inline constexpr uint64_t kNoChunk = ~uint64_t{0};
// The index of a shard: offset and length of each chunk, little-endian, without its checksum.
Result<BufferPtr> decode_index(const Sharding& sharding, uint64_t chunks, const BufferPtr& stored);

}  // namespace headrace::zarr
