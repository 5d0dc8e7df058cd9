#include "headrace/codecs/zstd/frames.h"

#include <zstd.h>

namespace headrace {

bool begins_zstd(std::span<const std::byte> head) {
  if (head.size() < 4) return false;
  const auto byte = [&](size_t i) { return std::to_integer<unsigned>(head[i]); };
  const unsigned magic = byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24;
  constexpr unsigned kFrame = 0xFD2FB528, kPassedOver = 0x184D2A50;  // and the fifteen after it
  return magic == kFrame || (magic & 0xFFFFFFF0) == kPassedOver;
}

void ZstdStream::Free::operator()(void* stream) const {
  ZSTD_freeDStream(static_cast<ZSTD_DStream*>(stream));
}

// Frames that need a window of more than 128 MiB are refused by the library by default.
ZstdStream::ZstdStream() : stream_(ZSTD_createDStream()) {}
ZstdStream::~ZstdStream() = default;

Result<ZstdStream::Step> ZstdStream::step(std::span<const std::byte> in, std::span<std::byte> out) {
  if (!stream_) return Status(Code::exhausted, "no memory for zstd");
  ZSTD_inBuffer from{in.data(), in.size(), 0};
  ZSTD_outBuffer to{out.data(), out.size(), 0};
  const size_t left = ZSTD_decompressStream(static_cast<ZSTD_DStream*>(stream_.get()), &to, &from);
  if (ZSTD_isError(left)) return corrupt(ZSTD_getErrorName(left));
  return Step{from.pos, to.pos, left == 0};
}

}  // namespace headrace
