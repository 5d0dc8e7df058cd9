#include "headrace/formats/zarr/packings.h"

#include <algorithm>
#include <optional>

#include "headrace/codecs/crc32c.h"
#include "headrace/codecs/deflate/inflate.h"
#include "headrace/codecs/packed/unpack.h"
#include "headrace/codecs/zstd/frames.h"
#include "headrace/core/little_endian.h"
#include "headrace/core/saturate.h"

namespace headrace::zarr {
namespace {

using Bytes = std::span<const std::byte>;
using Kind = Packing::Kind;

constexpr size_t kBloscHead = 16;
constexpr uint64_t kMostAdded = 64 << 10;  // bytes that a packing may add to incompressible data

Result<uint64_t> lz4_size(Bytes packed) {
  if (packed.size() < 4)
    return corrupt({.expected = "a size of 4 bytes", .got = std::to_string(packed.size())}).in_option("lz4");
  return load<uint32_t>(packed);
}

Status unpack_into(Kind kind, Bytes packed, std::span<std::byte> out) {
  HEADRACE_TRY(check_unpacked_size(packed.size(), out.size()));
  switch (kind) {
    case Kind::deflate: return unpack(Packed::deflate, packed, out);
    case Kind::zstd: return unpack(Packed::zstd, packed, out);
    case Kind::blosc: return unpack(Packed::blosc, packed, out);
    default: break;
  }
  HEADRACE_ASSIGN(const uint64_t size, lz4_size(packed));
  if (size != out.size())
    return corrupt({.expected = std::to_string(out.size()) + " bytes", .got = std::to_string(size)})
        .in_option("lz4");
  return unpack(Packed::lz4, packed.subspan(4), out);
}

Status check_size(uint64_t packed, uint64_t unpacked, uint64_t most) {
  HEADRACE_TRY(check_unpacked_size(packed, unpacked));
  if (unpacked <= most) return {};
  return corrupt({.expected = "at most " + std::to_string(most) + " bytes between two codecs",
                  .got = std::to_string(unpacked)});
}

// For streams without a stated size: piece by piece, up to the limit.
Result<BufferPtr> unpack_stream(Kind kind, Bytes packed, uint64_t most) {
  std::string out;
  const auto take = [&](Bytes piece) -> Status {
    HEADRACE_TRY(check_size(packed.size(), out.size() + piece.size(), most));
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
  if (!is_whole) return corrupt({.expected = "whole frames", .got = "a partial one"}).in_option("zstd");
  return buffer_of(std::move(out));
}

Result<BufferPtr> unpack_any(Kind kind, Bytes packed, uint64_t most) {
  uint64_t size = 0;
  if (kind == Kind::lz4) {
    HEADRACE_ASSIGN(size, lz4_size(packed));
  } else if (kind == Kind::blosc) {
    if (packed.size() < kBloscHead) return corrupt("blosc: expected a header of 16 bytes");
    size = load<uint32_t>(packed, 4);
  } else if (const auto stated = kind == Kind::zstd ? zstd_unpacked_size(packed) : std::nullopt) {
    size = *stated;
  } else {
    return unpack_stream(kind, packed, most);
  }
  HEADRACE_TRY(check_size(packed.size(), size, most));
  const MutableBufferPtr out = HeapBuffer::make(size);
  HEADRACE_TRY(unpack_into(kind, packed, {out->mutable_data(), size}));
  return BufferPtr(out);
}

void unshuffle_into(Bytes in, size_t element, std::span<std::byte> out) {
  const size_t count = in.size() / element, whole = count * element;
  for (size_t b = 0; b < element; ++b)
    for (size_t i = 0; i < count; ++i) out[i * element + b] = in[b * count + i];
  std::copy(in.begin() + static_cast<ptrdiff_t>(whole), in.end(),
            out.begin() + static_cast<ptrdiff_t>(whole));
}

}  // namespace

Unpacking::Unpacking(std::span<const Packing> packings, uint64_t plain) : packings_(packings) {
  if (plain != kAnySize) most_ = saturating_add(saturating_mul(plain, 2), kMostAdded);
  for (const Packing& packing : packings) {
    sizes_.push_back(plain);
    const bool packs = packing.kind != Kind::crc32c && packing.kind != Kind::shuffle;
    if (packs) plain = kAnySize;
    if (packing.kind == Kind::crc32c && plain != kAnySize) plain += 4;
  }
}

Result<Bytes> Unpacking::run(Bytes bytes, std::span<std::byte> out, bool* is_in_out) {
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
      if (bytes.size() != out.size()) return wrong_chunk_size(out.size(), bytes.size());
      unshuffle_into(bytes, packings_[0].element, out);
      return Bytes(out);
    }
    HEADRACE_ASSIGN(held_, undone(packings_[i], bytes, sizes_[i]));
    bytes = held_->bytes();
  }
  return bytes;
}

Result<BufferPtr> Unpacking::undone(const Packing& packing, Bytes bytes, uint64_t size) const {
  if (packing.kind != Kind::shuffle && size == kAnySize) return unpack_any(packing.kind, bytes, most_);
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

Status wrong_chunk_size(uint64_t wanted, uint64_t got) {
  return corrupt({.expected = "a chunk of " + std::to_string(wanted) + " bytes", .got = std::to_string(got)});
}

Result<Bytes> without_crc32c(Bytes bytes) {
  if (bytes.size() < 4)
    return corrupt({.expected = "4 bytes", .got = std::to_string(bytes.size())}).in_option("crc32c");
  const Bytes data = bytes.first(bytes.size() - 4);
  const uint32_t stated = load<uint32_t>(bytes, data.size()), made = crc32c(data);
  if (stated != made)
    return corrupt({.expected = std::to_string(stated), .got = std::to_string(made)}).in_option("crc32c");
  return data;
}

BufferPtr buffer_of(std::string bytes) {
  const auto held = std::make_shared<const std::string>(std::move(bytes));
  return std::make_shared<BorrowedBuffer>(std::as_bytes(std::span(*held)), held);
}

}  // namespace headrace::zarr
