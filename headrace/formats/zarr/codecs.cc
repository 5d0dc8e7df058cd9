#include "headrace/formats/zarr/codecs.h"

#include <algorithm>
#include <cstring>

#include "headrace/codecs/packed/unpack.h"
#include "headrace/core/little_endian.h"
#include "headrace/core/saturate.h"
#include "headrace/formats/zarr/cells.h"
#include "headrace/formats/zarr/numbers.h"
#include "headrace/formats/zarr/packings.h"

namespace headrace::zarr {
namespace {

using Bytes = std::span<const std::byte>;

Dims stored_dims(const Chain& chain, const Dims& chunk) {
  Dims out;
  for (const size_t axis : chain.order) out.push_back(chunk[axis]);
  return out;
}

// Decodes all chunks of a shard that is in memory. Axes are in storage order.
Status decode_shard(const Sharding& sharding, const Element& element, const Dims& shard,
                    const std::string& fill, const BufferPtr& stored, std::span<std::byte> out) {
  Dims grid;
  uint64_t count = 1;
  for (size_t i = 0; i < shard.size(); ++i) grid.push_back(shard[i] / sharding.chunk[i]), count *= grid[i];
  const uint64_t index_bytes = sharding.index_bytes(count);
  if (index_bytes > stored->size())
    return corrupt({.expected = "a shard with an index of " + std::to_string(index_bytes) + " bytes",
                    .got = std::to_string(stored->size())});
  const uint64_t at = sharding.index_at_end ? stored->size() - index_bytes : 0;
  const BufferPtr raw = std::make_shared<BorrowedBuffer>(stored->bytes().subspan(at, index_bytes), stored);
  HEADRACE_ASSIGN(const BufferPtr index, decode_index(sharding, count, raw));
  HEADRACE_TRY(check_unpacked_size(stored->size(), out.size()));
  const uint64_t bytes = product(sharding.chunk) * element.bytes;
  const Box whole{Dims(shard.size(), 0), shard};
  std::vector<std::byte> plain(bytes);
  for (uint64_t i = 0; i < count; ++i) {
    const auto offset = load<uint64_t>(index->data() + 16 * i),
               length = load<uint64_t>(index->data() + 16 * i + 8);
    if (offset == kNoChunk && length == kNoChunk) {
      fill_elements(fill, plain);
    } else {
      if (offset > stored->size() || length > stored->size() - offset)
        return corrupt(
            {.expected = "a chunk inside its shard of " + std::to_string(stored->size()) + " bytes",
             .got = std::to_string(length) + " at " + std::to_string(offset)});
      HEADRACE_TRY(decode(*sharding.inner, element, sharding.chunk, fill,
                          stored->bytes().subspan(offset, length), plain));
    }
    Dims origin(shard.size());
    uint64_t number = i;
    for (size_t axis = shard.size(); axis-- > 0; number /= grid[axis])
      origin[axis] = number % grid[axis] * sharding.chunk[axis];
    place_cell({origin, sharding.chunk}, strides_of(*sharding.inner, sharding.chunk, element.bytes), whole,
               element.bytes, plain, out.data());
  }
  return {};
}

}  // namespace

uint64_t product(const Dims& dims) {
  uint64_t out = 1;
  for (const uint64_t dim : dims) out = saturating_mul(out, dim);
  return out;
}

uint64_t Sharding::index_bytes(uint64_t chunks) const {
  return saturating_add(saturating_mul(chunks, 16), index_has_checksum ? 4 : 0);
}

bool Chain::is_row_major() const {
  for (size_t i = 0; i < order.size(); ++i)
    if (order[i] != i) return false;
  return true;
}

bool Chain::is_plain(const Element& element) const {
  return !element.is_text() && element.dtype != DType::boolean && is_row_major() && filters.empty() &&
         (!is_big_endian || element.bytes == 1) && !sharding && packings.empty();
}

Dims strides_of(const Chain& chain, const Dims& chunk, uint64_t element_bytes) {
  Dims out(chunk.size());
  uint64_t stride = element_bytes;
  for (size_t i = chunk.size(); i-- > 0;) {
    out[chain.order[i]] = stride;
    stride *= chunk[chain.order[i]];
  }
  return out;
}

Status decode(const Chain& chain, const Element& element, const Dims& chunk, const std::string& fill,
              Bytes packed, std::span<std::byte> out) {
  const uint64_t count = product(chunk);
  const size_t each = chain.filters.empty() ? element.bytes : size_of(chain.filters.back().stored);
  Unpacking unpacking(chain.packings, chain.sharding ? kAnySize : saturating_mul(count, each));
  bool is_in_out = false;
  const bool wants_out = chain.filters.empty() && !chain.sharding;
  HEADRACE_ASSIGN(const Bytes bytes,
                  unpacking.run(packed, wants_out ? out : std::span<std::byte>(), &is_in_out));
  if (chain.sharding) {
    const auto stored = std::make_shared<BorrowedBuffer>(bytes, nullptr);
    return decode_shard(*chain.sharding, element, stored_dims(chain, chunk), fill, stored, out);
  }
  if (bytes.size() != count * each) return wrong_chunk_size(count * each, bytes.size());
  if (chain.filters.empty()) {
    if (!is_in_out && !out.empty()) std::memcpy(out.data(), bytes.data(), out.size());
    if (chain.is_big_endian) swap_elements(out, element.swapped_bytes());
  } else {
    std::vector<std::byte> from(bytes.begin(), bytes.end()), to;
    if (chain.is_big_endian) swap_elements(from, each);
    for (size_t i = chain.filters.size(); i-- > 0;) {
      const NumberFilter& filter = chain.filters[i];
      to.resize(count * size_of(filter.plain));
      undo_filter(filter, from.data(), count, to.data());
      from.swap(to);
    }
    if (!out.empty()) std::memcpy(out.data(), from.data(), out.size());
  }
  if (element.dtype == DType::boolean)
    for (std::byte& b : out) b = std::byte(b != std::byte{0});
  return {};
}

Result<BufferPtr> decode_index(const Sharding& sharding, uint64_t chunks, const BufferPtr& stored) {
  Bytes bytes = stored->bytes();
  if (sharding.index_has_checksum) {
    auto checked = without_crc32c(bytes);
    if (!checked.ok()) return checked.status().before("index of the shard: ");
    bytes = *checked;
  }
  if (bytes.size() != 16 * chunks)
    return corrupt({.expected = "an index of " + std::to_string(16 * chunks) + " bytes",
                    .got = std::to_string(bytes.size())});
  if (!sharding.index_is_big_endian) return BufferPtr(std::make_shared<BorrowedBuffer>(bytes, stored));
  const MutableBufferPtr out = HeapBuffer::make(bytes.size());
  if (!bytes.empty()) std::memcpy(out->mutable_data(), bytes.data(), bytes.size());
  swap_elements({out->mutable_data(), out->size()}, 8);
  return BufferPtr(out);
}

}  // namespace headrace::zarr
