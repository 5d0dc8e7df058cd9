#include "headrace/formats/zarr/codecs.h"

#include <lz4.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "headrace/codecs/crc32c.h"
#include "headrace/codecs/deflate/inflate.h"
#include "headrace/codecs/packed/unpack.h"
#include "headrace/codecs/zstd/frames.h"
#include "headrace/core/little_endian.h"
#include "headrace/core/saturate.h"
#include "headrace/core/utf8.h"
#include "headrace/formats/zarr/cells.h"
#include "headrace/formats/zarr/numbers.h"

namespace headrace::zarr {
namespace {

using Bytes = std::span<const std::byte>;
using Kind = Packing::Kind;

constexpr size_t kBloscHead = 16;

// One stream, or a gzip of several members.
Status inflate_into(Bytes packed, std::span<std::byte> out) {
  z_stream stream{};
  if (inflateInit2(&stream, 32 + MAX_WBITS) != Z_OK) return {Code::exhausted, "no memory to inflate"};
  const std::unique_ptr<z_stream, int (*)(z_stream*)> ended(&stream, inflateEnd);
  if (packed.size() > kMostChunkBytes) return {Code::exhausted, "wants chunks of at most 2 GiB"};
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  Bytef none = 0;
  stream.next_out = out.empty() ? &none : reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  int code = inflate(&stream, Z_FINISH);
  while (code == Z_STREAM_END && stream.avail_in > 0 && stream.avail_out > 0) {
    if (inflateReset(&stream) != Z_OK) break;
    code = inflate(&stream, Z_FINISH);
  }
  if (code == Z_STREAM_END && stream.avail_out == 0) return {};
  return corrupt("gzip: wants data of " + std::to_string(out.size()) + " bytes, got " +
                 (code == Z_STREAM_END  ? std::to_string(out.size() - stream.avail_out)
                  : code == Z_BUF_ERROR ? "more or fewer"
                                        : "other data"));
}

Result<uint64_t> lz4_size(Bytes packed) {
  if (packed.size() < 4) return corrupt("lz4: wants a size in 4 bytes, got " + std::to_string(packed.size()));
  return load<uint32_t>(packed);
}

Status unpack_lz4(Bytes packed, std::span<std::byte> out) {
  HEADRACE_ASSIGN(const uint64_t size, lz4_size(packed));
  if (size != out.size())
    return corrupt("lz4: wants " + std::to_string(out.size()) + " bytes, got " + std::to_string(size));
  if (packed.size() > kMostChunkBytes - 1 || size > kMostChunkBytes - 1)
    return {Code::exhausted, "wants chunks of at most 2 GiB"};
  const int made = LZ4_decompress_safe(reinterpret_cast<const char*>(packed.data()) + 4,
                                       reinterpret_cast<char*>(out.data()),
                                       static_cast<int>(packed.size() - 4), static_cast<int>(out.size()));
  return made >= 0 && static_cast<size_t>(made) == out.size() ? Status()
                                                              : corrupt("lz4: the data are damaged");
}

Status unpack_into(Kind kind, Bytes packed, std::span<std::byte> out) {
  HEADRACE_TRY(check_unpacked_size(packed.size(), out.size()));
  switch (kind) {
    case Kind::deflate: return inflate_into(packed, out);
    case Kind::zstd: return unpack(Packed::zstd, packed, out);
    case Kind::blosc: return unpack(Packed::blosc, packed, out);
    default: return unpack_lz4(packed, out);
  }
}

BufferPtr buffer_of(std::string bytes) {
  const auto held = std::make_shared<const std::string>(std::move(bytes));
  return std::make_shared<BorrowedBuffer>(std::as_bytes(std::span(*held)), held);
}

// Where the size stands nowhere: piece by piece, for as long as it may be.
Result<BufferPtr> unpack_stream(Kind kind, Bytes packed) {
  std::string out;
  const auto take = [&](Bytes piece) -> Status {
    HEADRACE_TRY(check_unpacked_size(packed.size(), out.size() + piece.size()));
    out.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    return {};
  };
  if (kind == Kind::deflate) {
    Inflater inflater;
    HEADRACE_TRY(inflater.feed(packed, take));
    HEADRACE_TRY(inflater.finish());
    return buffer_of(std::move(out));
  }
  ZstdStream stream;
  std::vector<std::byte> piece(size_t{128} << 10);
  bool is_whole = false;
  for (Bytes left = packed; true;) {
    HEADRACE_ASSIGN(const ZstdStream::Step step, stream.step(left, piece));
    HEADRACE_TRY(take(Bytes(piece).first(step.made)));
    left = left.subspan(step.used);
    is_whole = step.ends_frame;
    if (left.empty() && step.made < piece.size()) break;
    if (step.used == 0 && step.made == 0) break;
  }
  if (!is_whole) return corrupt("zstd: wants whole frames, got a part of one");
  return buffer_of(std::move(out));
}

Result<BufferPtr> unpack_any(Kind kind, Bytes packed) {
  uint64_t size = 0;
  if (kind == Kind::lz4) {
    HEADRACE_ASSIGN(size, lz4_size(packed));
  } else if (kind == Kind::blosc) {
    if (packed.size() < kBloscHead) return corrupt("blosc: wants a head of 16 bytes");
    size = load<uint32_t>(packed, 4);
  } else if (const auto stated = kind == Kind::zstd ? zstd_unpacked_size(packed) : std::nullopt) {
    size = *stated;
  } else {
    return unpack_stream(kind, packed);
  }
  HEADRACE_TRY(check_unpacked_size(packed.size(), size));
  const MutableBufferPtr out = HeapBuffer::make(size);
  HEADRACE_TRY(unpack_into(kind, packed, {out->mutable_data(), size}));
  return BufferPtr(out);
}

Result<Bytes> without_crc32c(Bytes bytes) {
  if (bytes.size() < 4) return corrupt("crc32c: wants 4 bytes, got " + std::to_string(bytes.size()));
  const Bytes data = bytes.first(bytes.size() - 4);
  const uint32_t stated = load<uint32_t>(bytes, data.size()), made = crc32c(data);
  if (stated != made)
    return corrupt("crc32c: wants " + std::to_string(stated) + ", got " + std::to_string(made));
  return data;
}

void unshuffle_into(Bytes in, size_t element, std::span<std::byte> out) {
  const size_t count = in.size() / element, whole = count * element;
  for (size_t b = 0; b < element; ++b)
    for (size_t i = 0; i < count; ++i) out[i * element + b] = in[b * count + i];
  std::copy(in.begin() + static_cast<ptrdiff_t>(whole), in.end(),
            out.begin() + static_cast<ptrdiff_t>(whole));
}

// Undoes packings one by one. `plain`: the size of what the first was given; kAnySize where nobody knows.
constexpr uint64_t kAnySize = ~uint64_t{0};

class Unpacking {
 public:
  Unpacking(std::span<const Packing> packings, uint64_t plain) : packings_(packings) {
    for (const Packing& packing : packings) {
      sizes_.push_back(plain);
      const bool packs = packing.kind != Kind::crc32c && packing.kind != Kind::shuffle;
      if (packs) plain = kAnySize;
      if (packing.kind == Kind::crc32c && plain != kAnySize) plain += 4;
    }
  }

  // All of them; straight into `out` where it is the last that unpacks. Else what they gave.
  Result<Bytes> run(Bytes bytes, std::span<std::byte> out, bool* is_in_out) {
    *is_in_out = false;
    for (size_t i = packings_.size(); i-- > 0;) {
      const Kind kind = packings_[i].kind;
      if (kind == Kind::crc32c) {
        HEADRACE_ASSIGN(bytes, without_crc32c(bytes));
        continue;
      }
      if (i == 0 && sizes_[0] == out.size() && !out.empty()) {
        *is_in_out = true;
        if (kind != Kind::shuffle) {
          HEADRACE_TRY(unpack_into(kind, bytes, out));
          return Bytes(out);
        }
        if (bytes.size() != out.size()) return wrong(out.size(), bytes.size());
        unshuffle_into(bytes, packings_[0].element, out);
        return Bytes(out);
      }
      HEADRACE_ASSIGN(held_, undone(packings_[i], bytes, sizes_[i]));
      bytes = held_->bytes();
    }
    return bytes;
  }

  const BufferPtr& held() const { return held_; }  // what run() gave lies in; null: in what it was given

  static Status wrong(uint64_t wanted, uint64_t got) {
    return corrupt("wants a chunk of " + std::to_string(wanted) + " bytes, got " + std::to_string(got));
  }

 private:
  static Result<BufferPtr> undone(const Packing& packing, Bytes bytes, uint64_t size) {
    if (packing.kind != Kind::shuffle && size == kAnySize) return unpack_any(packing.kind, bytes);
    if (packing.kind == Kind::shuffle) size = bytes.size();
    HEADRACE_TRY(check_unpacked_size(bytes.size(), size));
    const MutableBufferPtr out = HeapBuffer::make(size);
    const std::span<std::byte> to{out->mutable_data(), size};
    if (packing.kind == Kind::shuffle)
      unshuffle_into(bytes, packing.element, to);
    else
      HEADRACE_TRY(unpack_into(packing.kind, bytes, to));
    return BufferPtr(out);
  }

  std::span<const Packing> packings_;
  std::vector<uint64_t> sizes_;  // of what each was given
  BufferPtr held_;
};

Dims stored_dims(const Chain& chain, const Dims& chunk) {
  Dims out;
  for (const size_t axis : chain.order) out.push_back(chunk[axis]);
  return out;
}

// A shard that is all here: its chunks, each to its place. Axes are those of what is stored.
Status decode_shard(const Sharding& sharding, const Element& element, const Dims& shard,
                    const std::string& fill, const BufferPtr& stored, std::span<std::byte> out) {
  Dims grid;
  uint64_t count = 1;
  for (size_t i = 0; i < shard.size(); ++i) grid.push_back(shard[i] / sharding.chunk[i]), count *= grid[i];
  const uint64_t index_bytes = sharding.index_bytes(count);
  if (index_bytes > stored->size())
    return corrupt("wants a shard with an index of " + std::to_string(index_bytes) + " bytes, got " +
                   std::to_string(stored->size()));
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
        return corrupt("wants a chunk inside its shard of " + std::to_string(stored->size()) +
                       " bytes, got " + std::to_string(length) + " at " + std::to_string(offset));
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
  if (bytes.size() != count * each) return Unpacking::wrong(count * each, bytes.size());
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

namespace {

// All of one length, zeros behind each.
Result<Texts> padded_texts(const Chain& chain, const Element& element, uint64_t count, Bytes bytes) {
  const uint64_t padded = saturating_mul(count, element.bytes);
  if (bytes.size() != padded) return Unpacking::wrong(padded, bytes.size());
  std::vector<std::byte> swapped;
  if (chain.is_big_endian && element.form == Form::utf32) {
    swapped.assign(bytes.begin(), bytes.end());
    swap_elements(swapped, 4);
    bytes = swapped;
  }
  Texts out;
  std::string texts;
  out.places.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t begin = texts.size();
    HEADRACE_TRY(append_text(element, bytes.subspan(i * element.bytes, element.bytes), texts));
    out.places.push_back({begin, texts.size() - begin});
  }
  out.bytes = buffer_of(std::move(texts));
  return out;
}

}  // namespace

Result<Texts> decode_texts(const Chain& chain, const Element& element, uint64_t count,
                           const BufferPtr& packed) {
  const bool are_runs = element.form == Form::runs;
  Unpacking unpacking(chain.packings, are_runs ? kAnySize : saturating_mul(count, element.bytes));
  bool is_in_out = false;
  HEADRACE_ASSIGN(const Bytes bytes, unpacking.run(packed->bytes(), {}, &is_in_out));
  if (!are_runs) return padded_texts(chain, element, count, bytes);
  // Their number, then each with its length.
  const auto wrong = [&](const std::string& got) {
    return corrupt("wants " + std::to_string(count) + " texts with their lengths, got " + got);
  };
  if (bytes.size() < 4) return wrong(std::to_string(bytes.size()) + " bytes");
  const uint64_t stated = load<uint32_t>(bytes);
  if (stated != count) return wrong(std::to_string(stated));
  if (count > (bytes.size() - 4) / 4) return wrong(std::to_string(bytes.size()) + " bytes");
  Texts out;
  out.bytes = std::make_shared<BorrowedBuffer>(bytes, unpacking.held() ? unpacking.held() : packed);
  out.places.reserve(count);
  size_t at = 4;
  for (uint64_t i = 0; i < count; ++i) {
    if (bytes.size() - at < 4) return wrong(std::to_string(i));
    const uint64_t length = load<uint32_t>(bytes, at);
    at += 4;
    if (length > bytes.size() - at) return wrong("one of " + std::to_string(length) + " bytes");
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + at, length);
    if (element.dtype == DType::str && utf8_prefix(text) < text.size())
      return corrupt("wants texts in UTF-8, got other bytes in text " + std::to_string(i) + " of the chunk");
    out.places.push_back({at, length});
    at += length;
  }
  return out;
}

Texts repeated_text(const std::string& text, uint64_t count) {
  return {buffer_of(text), std::vector<Texts::Place>(count, {0, text.size()})};
}

Result<BufferPtr> decode_index(const Sharding& sharding, uint64_t chunks, const BufferPtr& stored) {
  Bytes bytes = stored->bytes();
  if (sharding.index_has_checksum) {
    auto checked = without_crc32c(bytes);
    if (!checked.ok()) return checked.status().before("index of the shard: ");
    bytes = *checked;
  }
  if (bytes.size() != 16 * chunks)
    return corrupt("wants an index of " + std::to_string(16 * chunks) + " bytes, got " +
                   std::to_string(bytes.size()));
  if (!sharding.index_is_big_endian) return BufferPtr(std::make_shared<BorrowedBuffer>(bytes, stored));
  const MutableBufferPtr out = HeapBuffer::make(bytes.size());
  if (!bytes.empty()) std::memcpy(out->mutable_data(), bytes.data(), bytes.size());
  swap_elements({out->mutable_data(), out->size()}, 8);
  return BufferPtr(out);
}

}  // namespace headrace::zarr
