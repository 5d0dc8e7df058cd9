#include "headrace/formats/arrow/compression.h"

#include <lz4frame.h>
#include <zstd.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace headrace::arrow {
namespace {

constexpr uint64_t kMost = uint64_t{1} << 31;

Status inflate_lz4(std::span<const std::byte> in, std::span<std::byte> out) {
  LZ4F_dctx* raw = nullptr;
  if (LZ4F_isError(LZ4F_createDecompressionContext(&raw, LZ4F_VERSION)))
    return Status(Code::exhausted, "no memory for LZ4");
  const std::unique_ptr<LZ4F_dctx, LZ4F_errorCode_t (*)(LZ4F_dctx*)> context(raw,
                                                                             LZ4F_freeDecompressionContext);
  size_t used = 0, made = 0;
  while (true) {
    size_t input = in.size() - used, room = out.size() - made;
    const size_t hint =
        LZ4F_decompress(context.get(), out.data() + made, &room, in.data() + used, &input, nullptr);
    if (LZ4F_isError(hint)) return corrupt(std::string("LZ4: ") + LZ4F_getErrorName(hint));
    used += input;
    made += room;
    if (hint == 0 && made == out.size()) return {};
    if (hint == 0 || (input == 0 && room == 0))
      return corrupt("LZ4: expected " + std::to_string(out.size()) + " bytes, got " + std::to_string(made));
  }
}

Status inflate_zstd(std::span<const std::byte> in, std::span<std::byte> out) {
  const size_t made = ZSTD_decompress(out.data(), out.size(), in.data(), in.size());
  if (ZSTD_isError(made)) return corrupt(std::string("zstd: ") + ZSTD_getErrorName(made));
  if (made != out.size())
    return corrupt({.expected = std::to_string(out.size()) + " bytes", .got = std::to_string(made)})
        .in_option("zstd");
  return {};
}

Status deflated(const char* codec, bool failed, const char* why) {
  if (!failed) return {};
  return internal_error(std::string(codec) + ": " + why);
}

// Compresses into `out`, which has room for the worst case; returns the number of bytes.
Result<size_t> deflate_lz4(std::span<const std::byte> in, std::span<std::byte> out) {
  const size_t made = LZ4F_compressFrame(out.data(), out.size(), in.data(), in.size(), nullptr);
  HEADRACE_TRY(deflated("LZ4", LZ4F_isError(made) != 0, LZ4F_getErrorName(made)));
  return made;
}

Result<size_t> deflate_zstd(std::span<const std::byte> in, std::span<std::byte> out) {
  constexpr int kLevel = 1;  // Arrow's default
  const size_t made = ZSTD_compress(out.data(), out.size(), in.data(), in.size(), kLevel);
  HEADRACE_TRY(deflated("zstd", ZSTD_isError(made) != 0, ZSTD_getErrorName(made)));
  return made;
}

constexpr uint64_t kAsStored = ~uint64_t{0};  // the length -1

Result<uint64_t> stated_length(const Bytes& stored) {
  if (stored.size < 8)
    return corrupt(
        {.expected = "a length before a compressed buffer", .got = std::to_string(stored.size) + " bytes"});
  return load<uint64_t>(stored.data());
}

// A stated length that a buffer cannot decompress to is damage, however much memory there is: a byte of LZ4
// yields at most 255 bytes, and a zstd frame states its content size.
Status check_length(Codec codec, std::span<const std::byte> in, uint64_t length) {
  const auto wrong = [&](const std::string& why) {
    return corrupt("expected a buffer of " + std::to_string(in.size()) + " bytes to decompress to " +
                   std::to_string(length) + ": " + why);
  };
  if (codec == Codec::lz4) return length / 255 > in.size() ? wrong("LZ4 cannot hold that much") : Status();
  const uint64_t held = ZSTD_getFrameContentSize(in.data(), in.size());
  if (held == ZSTD_CONTENTSIZE_ERROR) return wrong("it is not a zstd frame");
  const bool is_alone = ZSTD_findFrameCompressedSize(in.data(), in.size()) == in.size();
  if (held == ZSTD_CONTENTSIZE_UNKNOWN || held == length || (held < length && !is_alone)) return {};
  return wrong("its zstd frame states " + std::to_string(held));
}

}  // namespace

Result<std::vector<Bytes>> inflate(Codec codec, std::vector<Bytes> stored) {
  if (codec == Codec::none) return stored;
  uint64_t packed = 0, unpacked = 0;
  for (const Bytes& bytes : stored) {
    if (bytes.size == 0) continue;
    HEADRACE_ASSIGN(const uint64_t length, stated_length(bytes));
    if (length == kAsStored) continue;
    HEADRACE_TRY(check_length(codec, bytes.span().subspan(8), length));
    packed += bytes.size;
    unpacked += std::min(length, kMost + 1);  // a sum that cannot overflow
    const uint64_t limit = std::min(kMost, std::max(kFree, kMaxRatio * packed));
    if (unpacked > limit)
      return Status(Code::exhausted, "expected a record batch to decompress to at most " +
                                         std::to_string(limit) + " bytes, its buffers state " +
                                         std::to_string(unpacked) + " or more");
  }
  for (Bytes& bytes : stored) {
    if (bytes.size == 0) continue;
    const auto length = load<uint64_t>(bytes.data());
    const std::span<const std::byte> in = bytes.span().subspan(8);
    if (length == kAsStored) {
      bytes = {bytes.buffer, bytes.offset + 8, in.size()};
      continue;
    }
    const MutableBufferPtr made = HeapBuffer::make(length);
    const std::span<std::byte> out(made->mutable_data(), length);
    HEADRACE_TRY(codec == Codec::lz4 ? inflate_lz4(in, out) : inflate_zstd(in, out));
    bytes = {made, 0, length};
  }
  return stored;
}

Status deflate(Codec codec, std::span<const std::byte> bytes, std::vector<std::byte>& out) {
  if (bytes.empty()) return {};
  const size_t begin = out.size(), data = begin + sizeof(uint64_t);
  const size_t most =
      codec == Codec::lz4 ? LZ4F_compressFrameBound(bytes.size(), nullptr) : ZSTD_compressBound(bytes.size());
  out.resize(data + std::max(most, bytes.size()));
  const auto room = std::span(out).subspan(data);
  HEADRACE_ASSIGN(size_t made, codec == Codec::lz4 ? deflate_lz4(bytes, room) : deflate_zstd(bytes, room));
  uint64_t length = bytes.size();
  if (made >= bytes.size()) {
    length = kAsStored, made = bytes.size();
    std::ranges::copy(bytes, room.begin());
  }
  std::memcpy(out.data() + begin, &length, sizeof length);
  out.resize(data + made);
  return {};
}

}  // namespace headrace::arrow
