#include "headrace/formats/array_record/chunk.h"

#include <algorithm>
#include <cstring>

#include "headrace/codecs/highway_hash.h"
#include "headrace/codecs/packed/unpack.h"
#include "headrace/codecs/protobuf.h"
#include "headrace/core/little_endian.h"
#include "headrace/core/saturate.h"

namespace headrace {
namespace {

// Takes a number off the front.
Result<uint64_t> take_number(std::span<const std::byte>& bytes, const char* what) {
  WireReader reader(bytes, bytes.data());
  uint64_t out = 0;
  size_t length = 0;
  while (length < bytes.size() && length < 10 && (bytes[length] & std::byte{0x80}) != std::byte{0}) ++length;
  if (!reader.varint(out)) return corrupt({.expected = what, .got = "no number"});
  bytes = bytes.subspan(length + 1);
  return out;
}

// One of a chunk's two parts, in new memory if it is really compressed.
Result<std::span<const std::byte>> unpack_part(Packed kind, std::span<const std::byte> part,
                                               MadeBytes& memory, bool& is_in_chunk) {
  is_in_chunk = true;
  if (kind == Packed::plain) return part;
  HEADRACE_ASSIGN(const uint64_t size, take_number(part, "the unpacked size"));
  HEADRACE_TRY(check_unpacked_size(part.size(), size));
  const auto stored = kind == Packed::zstd ? stored_in_zstd(part) : std::nullopt;
  if (stored && stored->size() == size) return *stored;
  is_in_chunk = false;
  const std::span out(memory.take(size), size);
  HEADRACE_TRY(unpack(kind, part, out));
  return std::span<const std::byte>(out);
}

Result<Packed> packing_of(std::byte type) {
  switch (std::to_integer<char>(type)) {
    case '\0': return Packed::plain;
    case 'z': return Packed::zstd;
    case 'b': return Packed::brotli;
    case 's': return Packed::snappy;
    default: break;
  }
  return corrupt({.expected = "a chunk that is plain or compressed with brotli, zstd or snappy",
                  .got = "type " + std::to_string(std::to_integer<int>(type))});
}

// Copies a chunk piece by piece: its header, then data that may be hashed, then what follows.
class ChunkCopy {
 public:
  ChunkCopy(std::byte* to, bool wants_hash)
      : to_(to), data_(to + kRiegeliChunkHeader), wants_hash_(wants_hash) {}
  void add(std::span<const std::byte> bytes) {
    if (size_ < kRiegeliChunkHeader) {
      copy(bytes, kRiegeliChunkHeader - size_);
      if (wants_hash_ && size_ == kRiegeliChunkHeader) left_ = load<uint64_t>({to_, kRiegeliChunkHeader}, 8);
    }
    const auto of_data = bytes.first(std::min<uint64_t>(bytes.size(), left_));
    data_.add(of_data);
    size_ += of_data.size(), left_ -= of_data.size(), bytes = bytes.subspan(of_data.size());
    copy(bytes, bytes.size());
  }
  const std::byte* begin() const { return to_; }
  size_t size() const { return size_; }
  std::optional<uint64_t> data_hash() const {
    return wants_hash_ ? std::optional(data_.hash()) : std::nullopt;
  }

 private:
  void copy(std::span<const std::byte>& from, size_t most) {
    const size_t size = std::min(from.size(), most);
    if (size > 0) std::memcpy(to_ + size_, from.data(), size);
    size_ += size, from = from.subspan(size);
  }

  std::byte* to_;
  RiegeliCopy data_;
  size_t size_ = 0;
  bool wants_hash_;
  uint64_t left_ = 0;  // data still to be hashed
};

}  // namespace

WithoutBlockHeaders without_block_headers(const Record& bytes, uint64_t begin, bool wants_hash,
                                          MadeBytes& memory) {
  const size_t length = bytes.length;
  const uint64_t to_header = (kRiegeliBlock - begin % kRiegeliBlock) % kRiegeliBlock;
  if (to_header >= length && length < kLeastMapped) return {bytes, std::nullopt};
  ChunkCopy copy(memory.take(std::max<uint64_t>(length, kRiegeliChunkHeader)), wants_hash);
  for (size_t at = 0, next = to_header; at < length; next += kRiegeliBlock) {
    copy.add(bytes.bytes().subspan(at, std::min(next, length) - at));
    at = std::min(next + kRiegeliBlockHeader, length);
  }
  return {{memory.buffer(), memory.offset_of(copy.begin()), copy.size()}, copy.data_hash()};
}

Result<RiegeliChunk> riegeli_chunk(std::span<const std::byte> bytes, bool verify,
                                   std::optional<uint64_t> hash) {
  if (bytes.size() < kRiegeliChunkHeader)
    return corrupt("expected the header of a chunk, but only " + std::to_string(bytes.size()) +
                   " bytes are left");
  if (riegeli_hash(bytes.subspan(8, kRiegeliChunkHeader - 8)) != load<uint64_t>(bytes))
    return corrupt("the header of a chunk does not match its hash");
  RiegeliChunk out;
  const auto size = load<uint64_t>(bytes, 8), type = load<uint64_t>(bytes, 24);
  out.type = static_cast<char>(type & 0xff), out.num_records = type >> 8;
  out.decoded_size = load<uint64_t>(bytes, 32);
  if (size > bytes.size() - kRiegeliChunkHeader)
    return corrupt("expected a chunk of " + std::to_string(size) + " bytes, but only " +
                   std::to_string(bytes.size() - kRiegeliChunkHeader) + " are left");
  out.data = bytes.subspan(kRiegeliChunkHeader, size);
  if (verify && (hash ? *hash : riegeli_hash(out.data)) != load<uint64_t>(bytes, 16))
    return corrupt("the data of a chunk do not match their hash");
  return out;
}

Status riegeli_records(const RiegeliChunk& chunk, const BufferPtr& bytes, MadeBytes& memory,
                       UnpackedFrame& out) {
  if (chunk.type == 't')
    return Status(Code::unavailable,
                  {.expected = "chunks of whole records", .got = "one that was written with transpose:true"});
  if (chunk.type != 'r')
    return corrupt(
        {.expected = "a chunk of records", .got = "type " + std::to_string(static_cast<int>(chunk.type))});
  std::span<const std::byte> data = chunk.data;
  if (data.empty()) return corrupt({.expected = "a chunk of records", .got = "no bytes"});
  HEADRACE_ASSIGN(const Packed kind, packing_of(data[0]));
  const BufferPtr held = kind == Packed::plain ? nullptr : bytes;  // `memory` may take another buffer
  data = data.subspan(1);
  HEADRACE_ASSIGN(const uint64_t length, take_number(data, "the length of the sizes"));
  if (length > data.size())
    return corrupt("expected sizes of " + std::to_string(length) + " bytes, but only " +
                   std::to_string(data.size()) + " are left");
  bool is_in_chunk = false;  // in the end: of the values
  HEADRACE_ASSIGN(std::span<const std::byte> sizes,
                  unpack_part(kind, data.first(length), memory, is_in_chunk));
  if (chunk.num_records > sizes.size())
    return corrupt({.expected = "the sizes of " + std::to_string(chunk.num_records) + " records",
                    .got = std::to_string(sizes.size()) + " bytes"});
  // An extent for each record, even if it has no bytes.
  HEADRACE_TRY(
      check_unpacked_size(chunk.data.size(), saturating_mul(chunk.num_records, sizeof(RecordExtent))));
  out.records.resize(chunk.num_records);
  uint64_t at = 0;
  for (RecordExtent& record : out.records) {
    HEADRACE_ASSIGN(const uint64_t size, take_number(sizes, "the size of a record"));
    record = {at, size};
    at = saturating_add(at, size);
  }
  HEADRACE_ASSIGN(const std::span<const std::byte> values,
                  unpack_part(kind, data.subspan(length), memory, is_in_chunk));
  if (!sizes.empty() || at != values.size() || at != chunk.decoded_size)
    return corrupt({.expected = "records of " + std::to_string(chunk.decoded_size) + " bytes in total",
                    .got = "sizes that add up to " + std::to_string(at) + ", and " +
                           std::to_string(values.size()) + " bytes of data"});
  const BufferPtr& buffer = is_in_chunk ? bytes : memory.buffer();
  if (out.bytes != buffer) out.bytes = buffer;
  const auto begin = static_cast<uint64_t>(values.data() - buffer->data());
  for (RecordExtent& record : out.records) record.offset += begin;
  return {};
}

}  // namespace headrace
