#include "headrace/formats/parquet/pages.h"

#include <zlib.h>

#include "headrace/codecs/packed/unpack.h"
#include "headrace/core/little_endian.h"

namespace headrace::parquet {
namespace {

uint32_t big_endian_at(Span bytes, size_t at) { return __builtin_bswap32(load<uint32_t>(bytes, at)); }

// Hadoop's frames: two big-endian lengths before each block.
bool unpack_hadoop_lz4(Span packed, std::span<std::byte> out) {
  while (packed.size() >= 8) {
    const uint32_t wanted = big_endian_at(packed, 0), size = big_endian_at(packed, 4);
    packed = packed.subspan(8);
    if (size > packed.size() || wanted > out.size() || size == 0) return false;
    if (!unpack(Packed::lz4, packed.first(size), out.first(wanted)).ok()) return false;
    packed = packed.subspan(size), out = out.subspan(wanted);
  }
  return packed.empty() && out.empty();
}

Status unpack_page(Codec codec, Span packed, std::span<std::byte> out) {
  switch (codec) {
    case Codec::none: return unpack(Packed::plain, packed, out);
    case Codec::snappy: return unpack(Packed::snappy, packed, out);
    case Codec::gzip: return unpack(Packed::deflate, packed, out);
    case Codec::brotli: return unpack(Packed::brotli, packed, out);
    case Codec::zstd: return unpack(Packed::zstd, packed, out);
    case Codec::lz4: return unpack_hadoop_lz4(packed, out) ? Status() : unpack(Packed::lz4, packed, out);
    case Codec::lz4_raw: return unpack(Packed::lz4, packed, out);
    case Codec::lzo: break;
  }
  return {Code::unavailable, "cannot decompress LZO"};
}

}  // namespace

Status Pages::unpack_body(Span packed, Page& page) {
  const PageHeader& header = page.header;
  const uint64_t levels = header.rep_bytes + header.def_bytes;  // not compressed, only in data_v2
  if (levels > packed.size() || levels > header.unpacked)
    return corrupt({.expected = "levels inside the page's " + std::to_string(packed.size()) + " bytes",
                    .got = std::to_string(levels)});
  page.rep = packed.first(header.rep_bytes);
  page.def = packed.subspan(header.rep_bytes, header.def_bytes);
  packed = packed.subspan(levels);
  const uint64_t size = header.unpacked - levels;
  if (codec_ == Codec::none || !header.is_packed) {
    page.body = {bytes_.buffer, static_cast<size_t>(packed.data() - bytes_.buffer->data()), packed.size()};
    return {};
  }
  unpacked_ += size;  // each is below 2^31
  HEADRACE_TRY(check_unpacked_size(bytes_.size, unpacked_));
  const MutableBufferPtr made = HeapBuffer::make(size);
  if (size != 0) HEADRACE_TRY(unpack_page(codec_, packed, {made->mutable_data(), size}));
  page.body = {made, 0, size};
  page.is_made = true;
  return {};
}

Result<std::optional<Page>> Pages::next() {
  while (done_ < bytes_.size) {
    const Span rest = bytes_.span().subspan(done_);
    Page page;
    HEADRACE_ASSIGN(page.header, read_page_header(rest));
    const PageHeader& header = page.header;
    if (header.packed > rest.size() - header.length)
      return corrupt({.expected = "a page inside its column",
                      .got = "one of " + std::to_string(header.packed) + " bytes with " +
                             std::to_string(rest.size() - header.length) + " left"});
    const Span packed = rest.subspan(header.length, header.packed);
    if (header.kind == PageHeader::index) {
      done_ += header.length + header.packed;
      continue;
    }
    if (header.checksum) {
      const auto got = crc32_z(0, reinterpret_cast<const Bytef*>(packed.data()), packed.size());
      if (static_cast<uint32_t>(got) != *header.checksum)
        return corrupt({.expected = "a page with checksum " + std::to_string(*header.checksum),
                        .got = std::to_string(got)});
    }
    HEADRACE_TRY(unpack_body(packed, page));
    done_ += header.length + header.packed;
    return std::optional(std::move(page));
  }
  return std::optional<Page>();
}

}  // namespace headrace::parquet
