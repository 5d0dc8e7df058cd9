// The files of an LMDB source, and where records are in them.
#pragma once
#include <algorithm>
#include <span>
#include <vector>

#include "headrace/formats/lmdb/index.h"
#include "headrace/formats/lmdb/page.h"

namespace headrace {

struct LmdbFile {
  SourceFile file;
  uint64_t page_size = 0, size = 0;  // size: number of records
  std::vector<RecordExtent> extents;
  std::vector<LmdbBlock> blocks;  // one for each extent
  BufferPtr keys;                 // of big values

  // The block that contains record `i`. Blocks have about the same size, so an interpolated guess comes
  // close; doubling steps do the rest.
  uint64_t block_of(uint64_t i) const {
    const auto begins_after = [&](uint64_t block) { return blocks[block].first > i; };
    uint64_t low = std::min<uint64_t>(
        blocks.size() - 1, static_cast<uint64_t>(static_cast<double>(i) / static_cast<double>(size) *
                                                 static_cast<double>(blocks.size())));
    uint64_t high = low + 1, step = 1;  // the answer is in [low, high)
    while (begins_after(low)) high = low, low -= std::min(low, step), step *= 2;
    while (high < blocks.size() && !begins_after(high))
      low = high, high = std::min<uint64_t>(blocks.size(), high + step), step *= 2;
    while (high - low > 1) {
      const uint64_t middle = low + (high - low) / 2;
      (begins_after(middle) ? high : low) = middle;
    }
    return low;
  }
  bool is_big(uint64_t block) const { return blocks[block].kind == LmdbBlock::big; }
  bool is_lost(uint64_t block) const { return blocks[block].kind == LmdbBlock::lost; }
  // The key of a big value, or why a block is lost.
  std::span<const std::byte> key_of(uint64_t block) const {
    return keys->bytes().subspan(blocks[block].key, blocks[block].key_size);
  }
  uint64_t page_of(uint64_t block) const { return extents[block].offset / page_size; }
  uint64_t records_of(uint64_t block) const {
    return (block + 1 < blocks.size() ? blocks[block + 1].first : size) - blocks[block].first;
  }
};

// Shared by source and blocks: blocks may outlive their source.
struct Lmdb {
  Schema schema;
  enum class Values : uint8_t { bytes, datum, tensor_protos } values = Values::bytes;
  DatumKind datum;
  TensorProtosKind tensors;
  std::vector<LmdbFile> files;
  std::vector<uint64_t> first_record, first_block;  // of each file, then the totals
  bool is_damaged = false;                          // some block is lost

  Status fields(Tensor key, Tensor value, std::vector<Tensor>& out) const {
    if (values == Values::datum) return read_datum(value, datum, out);
    if (values == Values::tensor_protos) return read_tensor_protos(value, tensors, out);
    out.resize(2);
    out[0] = std::move(key), out[1] = std::move(value);
    return {};
  }
};

struct LmdbSpot {
  size_t file;
  uint64_t i;  // in the file
};
// The file and position of what is numbered across all files; `first`: where each file begins, then the end.
inline LmdbSpot lmdb_spot(const std::vector<uint64_t>& first, uint64_t i) {
  const auto file = static_cast<size_t>(std::ranges::upper_bound(first, i) - first.begin() - 1);
  return {file, i - first[file]};
}

// Finds records, which are often next to the previous one.
struct LmdbNeighbours {
  explicit LmdbNeighbours(const Lmdb& all) : lmdb(all) {}
  // True if `index` is in another block than the last one.
  bool find(uint64_t index) {
    if (index >= first && index < end) return false;
    const LmdbSpot spot = lmdb_spot(lmdb.first_record, index);
    file = spot.file, block = lmdb.files[file].block_of(spot.i);
    first = index - spot.i + lmdb.files[file].blocks[block].first;
    end = first + lmdb.files[file].records_of(block);
    node = lmdb.files[file].blocks[block].node;
    return true;
  }
  const Lmdb& lmdb;
  size_t file = 0;
  uint64_t block = 0;           // of the file
  uint64_t first = 0, end = 0;  // its records
  uint32_t node = 0;            // of the first
};

// A key and the value after it, as row n of a batch.
inline void share_lmdb_pair(const BufferPtr& buffer, Text bytes, size_t key, size_t n,
                            std::span<const FieldPlace> to) {
  to[0].texts->set(n, buffer, bytes.first(key));
  to[1].texts->set(n, buffer, bytes.subspan(key));
}
// The same for the big value of a block.
inline void share_big_lmdb_value(const LmdbFile& file, uint64_t block, const BufferPtr& buffer, Text value,
                                 size_t n, std::span<const FieldPlace> to) {
  to[0].texts->set(n, file.keys, file.key_of(block));
  to[1].texts->set(n, buffer, value);
}

}  // namespace headrace
