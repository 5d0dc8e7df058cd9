#include "headrace/codecs/packed/unpack.h"

#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "headrace/codecs/deflate/whole.h"
#include "headrace/codecs/packed/within.h"
#include "headrace/core/saturate.h"

namespace headrace {
namespace {

constexpr uint64_t kMaxRatio = 1000, kFree = uint64_t{256} << 20, kMost = uint64_t{1} << 31;

using Functions = std::array<UnpackRegistration::Function, kPackings>;

Functions& registered_functions() {
  static Functions all{};
  return all;
}

std::string_view name_of(Packed kind) {
  return kind == Packed::blosc ? "blosc" : kind == Packed::bzip2 ? "bzip2" : "brotli";
}

Status wrong_size(std::string_view codec, uint64_t wanted, const std::string& got) {
  return corrupt({.expected = std::to_string(wanted) + " bytes", .got = got})
      .before(std::string(codec) + ": ");
}

// Checks that `out` was filled to its end.
Status whole(std::string_view codec, const Result<size_t>& made, std::span<std::byte> out) {
  if (!made.ok()) return made.status();
  return *made == out.size() ? Status() : wrong_size(codec, out.size(), std::to_string(*made));
}

}  // namespace

UnpackRegistration::UnpackRegistration(Packed kind, Function function) {
  registered_functions()[static_cast<size_t>(kind)] = function;
}

Status check_unpacked_size(uint64_t packed, uint64_t unpacked) {
  const uint64_t limit = std::min(kMost, std::max(kFree, saturating_mul(kMaxRatio, packed)));
  if (unpacked <= limit) return {};
  return {Code::exhausted,
          Mismatch{.expected = std::to_string(packed) + " compressed bytes to unpack to at most " +
                               std::to_string(limit),
                   .got = std::to_string(unpacked)}};
}

Status unpack(Packed kind, std::span<const std::byte> packed, std::span<std::byte> out) {
  if (kind == Packed::zstd) return whole("zstd", unpack_zstd_within(packed, out), out);
  if (kind == Packed::lz4) return whole("lz4", unpack_lz4_within(packed, out), out);
  if (kind == Packed::deflate) {
    auto made = inflate_whole(DeflateFrame::gzip_or_zlib, packed, out);
    return made.ok() ? whole("gzip", made, out) : made.status().before("gzip: ");
  }
  if (kind == Packed::snappy) return unpack_snappy(packed, out);
  if (const auto function = registered_functions()[static_cast<size_t>(kind)]) return function(packed, out);
  if (kind != Packed::plain)
    return {Code::unavailable, std::string(name_of(kind)) +
                                   " is not supported: its library was missing when Headrace was built"};
  if (packed.size() != out.size()) return wrong_size("plain", out.size(), std::to_string(packed.size()));
  if (!out.empty()) std::memcpy(out.data(), packed.data(), out.size());
  return {};
}

Result<BufferPtr> unpack(Packed kind, std::span<const std::byte> packed, uint64_t size) {
  HEADRACE_TRY(check_unpacked_size(packed.size(), size));
  const MutableBufferPtr out = HeapBuffer::make(size);
  HEADRACE_TRY(unpack(kind, packed, std::span(out->mutable_data(), size)));
  return BufferPtr(out);
}

std::optional<uint64_t> zstd_unpacked_size(std::span<const std::byte> packed) {
  uint64_t sum = 0;
  while (!packed.empty()) {
    const unsigned long long content = ZSTD_getFrameContentSize(packed.data(), packed.size());
    const size_t length = ZSTD_findFrameCompressedSize(packed.data(), packed.size());
    if (content == ZSTD_CONTENTSIZE_UNKNOWN || content == ZSTD_CONTENTSIZE_ERROR || ZSTD_isError(length))
      return std::nullopt;
    sum = saturating_add(sum, content);
    packed = packed.subspan(length);
  }
  return sum;
}

}  // namespace headrace
