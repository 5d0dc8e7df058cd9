#include <lz4frame.h>
#include <zstd.h>

#include <algorithm>
#include <memory>

#include "tests/sources/arrow_batch.h"
#include "tests/sources/little_endian.h"

namespace headrace::trial {
namespace {

// A column of equal values shrinks by far more than 1000:1, so up to kFree no ratio is asked for.
constexpr uint64_t kMaxRatio = 1000, kFree = uint64_t{256} << 20, kMaxBuffer = uint64_t{1} << 31;

Status inflate_lz4(std::span<const std::byte> in, std::span<std::byte> out) {
  LZ4F_dctx* raw = nullptr;
  if (LZ4F_isError(LZ4F_createDecompressionContext(&raw, LZ4F_VERSION)))
    return Status(Code::exhausted, "arrow: no memory for LZ4");
  const std::unique_ptr<LZ4F_dctx, LZ4F_errorCode_t (*)(LZ4F_dctx*)> context(raw,
                                                                             LZ4F_freeDecompressionContext);
  size_t used = 0, made = 0;
  while (true) {
    size_t input = in.size() - used, room = out.size() - made;
    const size_t hint =
        LZ4F_decompress(context.get(), out.data() + made, &room, in.data() + used, &input, nullptr);
    if (LZ4F_isError(hint)) return corrupt(std::string("arrow: LZ4: ") + LZ4F_getErrorName(hint));
    used += input;
    made += room;
    if (hint == 0 && made == out.size()) return {};
    if (hint == 0 || (input == 0 && room == 0))
      return corrupt("arrow: LZ4: wants " + std::to_string(out.size()) + " bytes, got " +
                     std::to_string(made));
  }
}

Status inflate_zstd(std::span<const std::byte> in, std::span<std::byte> out) {
  const size_t made = ZSTD_decompress(out.data(), out.size(), in.data(), in.size());
  if (ZSTD_isError(made)) return corrupt(std::string("arrow: zstd: ") + ZSTD_getErrorName(made));
  if (made != out.size())
    return corrupt("arrow: zstd: wants " + std::to_string(out.size()) + " bytes, got " +
                   std::to_string(made));
  return {};
}

}  // namespace

Result<ArrowBytes> inflate_arrow(ArrowCodec codec, const BufferPtr& stored) {
  if (codec == ArrowCodec::none || stored->size() == 0) return ArrowBytes{stored, 0, stored->size(), false};
  if (stored->size() < 8)
    return corrupt("arrow: a compressed buffer of " + std::to_string(stored->size()) + " bytes");
  const auto length = load<int64_t>(stored->data());
  const auto in = stored->bytes().subspan(8);
  if (length == -1) return ArrowBytes{stored, 8, in.size(), false};
  const uint64_t limit = std::min(kMaxBuffer, std::max(kFree, kMaxRatio * in.size()));
  if (length < 0 || static_cast<uint64_t>(length) > limit)
    return Status(Code::exhausted, "arrow: a buffer may inflate to " + std::to_string(limit) +
                                       " bytes, wants " + std::to_string(length));
  const MutableBufferPtr made = HeapBuffer::make(static_cast<size_t>(length));
  const std::span<std::byte> out(made->mutable_data(), made->size());
  HEADRACE_TRY(codec == ArrowCodec::lz4 ? inflate_lz4(in, out) : inflate_zstd(in, out));
  return ArrowBytes{made, 0, made->size(), true};
}

}  // namespace headrace::trial
