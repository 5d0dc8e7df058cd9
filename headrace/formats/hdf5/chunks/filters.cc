#include "headrace/formats/hdf5/chunks/filters.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "headrace/codecs/packed/unpack.h"
#include "headrace/formats/hdf5/chunks/chunk_rows.h"
#include "headrace/formats/hdf5/chunks/szip.h"
#include "headrace/formats/hdf5/structures/checksum.h"

namespace headrace::hdf5 {
namespace {

enum FilterId : uint16_t {
  kDeflate = 1,
  kShuffle = 2,
  kFletcher32 = 3,
  kSzip = 4,
  kBzip2 = 307,
  kLzf = 32000,
  kZstd = 32015,
};
bool is_read(uint16_t id) {
  return (id >= kDeflate && id <= kSzip) || id == kBzip2 || id == kLzf || id == kZstd;
}

constexpr uint64_t kFreeUnpacked = uint64_t{256} << 20;  // may be decompressed at any ratio
constexpr uint64_t kMostRatio = 1100;                    // deflate's is at most 1032

std::string filter_name(uint16_t id) {
  constexpr std::pair<uint16_t, const char*> names[] = {
      {5, "nbit"},           {6, "scale-offset"}, {32001, "blosc"}, {32004, "lz4"},
      {32008, "bitshuffle"}, {32013, "zfp"},      {32026, "blosc2"}};
  for (const auto& [known, name] : names)
    if (known == id) return name;
  return "number " + std::to_string(id);
}

Status inflate_all(std::span<const std::byte> in, std::span<std::byte> out) {
  uLongf size = out.size();
  uLong used = in.size();
  const int code = uncompress2(reinterpret_cast<Bytef*>(out.data()), &size,
                               reinterpret_cast<const Bytef*>(in.data()), &used);
  if (code == Z_MEM_ERROR) return {Code::exhausted, "no memory to inflate"};
  if (code == Z_OK && size == out.size()) return {};
  return corrupt({.expected = "deflated data of " + std::to_string(out.size()) + " bytes",
                  .got = code == Z_OK          ? std::to_string(size)
                         : code == Z_BUF_ERROR ? "more or fewer"
                                               : "other data"});
}

// Verifies and removes the last four bytes, the checksum. Old writers on little-endian machines swapped its
// bytes.
Result<BufferPtr> without_checksum(const BufferPtr& in) {
  if (in->size() < 4)
    return corrupt({.expected = "a checksum of 4 bytes", .got = std::to_string(in->size())});
  const auto bytes = in->bytes().first(in->size() - 4);
  uint32_t stated = 0;
  std::memcpy(&stated, in->data() + bytes.size(), 4);
  const uint32_t made = fletcher32(bytes);
  const uint32_t swapped = (made & 0x00ff00ff) << 8 | (made & 0xff00ff00) >> 8;
  if (stated != made && stated != swapped)
    return corrupt({.expected = "data with checksum " + std::to_string(stated), .got = std::to_string(made)});
  return BufferPtr(std::make_shared<BorrowedBuffer>(bytes, in));
}

Result<BufferPtr> undo(const Filter& filter, const BufferPtr& in, uint64_t plain) {
  if (filter.id == kFletcher32) return without_checksum(in);
  if (filter.id == kShuffle) {
    const size_t element = filter.values.empty() ? 1 : filter.values[0];
    if (element <= 1) return in;
    const MutableBufferPtr out = HeapBuffer::make(in->size());
    unshuffle(in->bytes(), element, {out->mutable_data(), out->size()});
    return BufferPtr(out);
  }
  if (plain > kFreeUnpacked && plain / kMostRatio > in->size())
    return Status(Code::exhausted,
                  {.expected = std::to_string(in->size()) + " bytes to decompress to at most " +
                               std::to_string(kFreeUnpacked) + " bytes or 1100 times their size",
                   .got = std::to_string(plain)});
  const MutableBufferPtr out = HeapBuffer::make(plain);
  const std::span<std::byte> to{out->mutable_data(), out->size()};
  if (filter.id == kDeflate) HEADRACE_TRY(inflate_all(in->bytes(), to));
  if (filter.id == kLzf) HEADRACE_TRY(unpack_lzf(in->bytes(), to));
  if (filter.id == kZstd) HEADRACE_TRY(unpack(Packed::zstd, in->bytes(), to));
  if (filter.id == kBzip2) HEADRACE_TRY(unpack(Packed::bzip2, in->bytes(), to));
  if (filter.id == kSzip) {
    HEADRACE_ASSIGN(const SzipOptions options, szip_options(filter.values));
    HEADRACE_TRY(unpack_szip(options, in->bytes(), to));
  }
  return BufferPtr(out);
}

// Size of filter i's output when reading: the chunk, plus 4 bytes for each checksum that was added before
// that filter.
uint64_t bytes_before(const std::vector<Filter>& filters, size_t i, uint32_t mask, uint64_t plain) {
  for (size_t k = 0; k < i; ++k)
    if (filters[k].id == kFletcher32 && (mask >> k & 1) == 0) plain += 4;
  return plain;
}

}  // namespace

Status check_filters(const std::vector<Filter>& filters) {
  for (const Filter& filter : filters)
    if (!is_read(filter.id))
      return {Code::unavailable,
              "expected chunks without filters or with gzip, shuffle, fletcher32, szip, lzf, zstd or bzip2, "
              "got the filter " +
                  filter_name(filter.id)};
  return {};
}

void unshuffle(std::span<const std::byte> in, size_t element, std::span<std::byte> out) {
  const size_t count = in.size() / element;
  for (size_t b = 0; b < element; ++b) {
    const std::byte* from = in.data() + b * count;
    std::byte* to = out.data() + b;
    for (size_t i = 0; i < count; ++i) to[i * element] = from[i];
  }
  const size_t rest = count * element;
  if (rest < in.size()) std::memcpy(out.data() + rest, in.data() + rest, in.size() - rest);
}

Status unpack_lzf(std::span<const std::byte> in, std::span<std::byte> out) {
  const Status damaged =
      corrupt({.expected = "LZF data of " + std::to_string(out.size()) + " bytes", .got = "other data"});
  size_t from = 0, to = 0;
  const auto next = [&] { return std::to_integer<size_t>(in[from++]); };
  while (from < in.size()) {
    const size_t control = next();
    if (control < 32) {  // literal bytes: control + 1 of them
      const size_t count = control + 1;
      if (count > in.size() - from || count > out.size() - to) return damaged;
      std::memcpy(out.data() + to, in.data() + from, count);
      from += count, to += count;
      continue;
    }
    size_t length = control >> 5;
    if (from + (length == 7 ? 2 : 1) > in.size()) return damaged;
    if (length == 7) length += next();
    const size_t back = ((control & 31) << 8 | next()) + 1;
    length += 2;
    if (back > to || length > out.size() - to) return damaged;
    for (; length > 0; --length, ++to) out[to] = out[to - back];  // the two may overlap
  }
  return to == out.size() ? Status() : damaged;
}

Result<BufferPtr> unfilter(const Dataset& dataset, const Chunk& chunk, BufferPtr stored) {
  const uint64_t plain = dataset.chunk_bytes();
  const uint32_t mask = dataset.edges_are_plain && is_at_edge(dataset, chunk) ? ~uint32_t{0} : chunk.mask;
  for (size_t i = dataset.filters.size(); i-- > 0;) {
    if ((mask >> i & 1) != 0) continue;
    HEADRACE_ASSIGN(stored, undo(dataset.filters[i], stored, bytes_before(dataset.filters, i, mask, plain)));
  }
  if (stored->size() != plain)
    return corrupt({.expected = "a chunk of " + std::to_string(plain) + " bytes",
                    .got = std::to_string(stored->size())});
  return stored;
}

}  // namespace headrace::hdf5
