#include "headrace/codecs/packed/within.h"

#include <lz4.h>
#include <zstd.h>

#include <limits>
#include <memory>
#include <string>

namespace headrace {

Result<size_t> unpack_zstd_within(std::span<const std::byte> in, std::span<std::byte> out) {
  thread_local const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> unpacker(ZSTD_createDCtx(),
                                                                                 ZSTD_freeDCtx);
  if (!unpacker) return Status(Code::exhausted, "no memory for zstd");
  const size_t made = ZSTD_decompressDCtx(unpacker.get(), out.data(), out.size(), in.data(), in.size());
  if (ZSTD_isError(made)) return corrupt(std::string("zstd: ") + ZSTD_getErrorName(made));
  return made;
}

Result<size_t> unpack_lz4_within(std::span<const std::byte> in, std::span<std::byte> out) {
  constexpr size_t kMost = std::numeric_limits<int>::max();
  if (in.size() > kMost || out.size() > kMost)
    return corrupt({.expected = "a block below 2 GiB", .got = std::to_string(in.size()) + " bytes"})
        .before("lz4: ");
  const int made =
      LZ4_decompress_safe(reinterpret_cast<const char*>(in.data()), reinterpret_cast<char*>(out.data()),
                          static_cast<int>(in.size()), static_cast<int>(out.size()));
  if (made < 0)
    return corrupt("lz4: expected a block of at most " + std::to_string(out.size()) +
                   " bytes, but it is damaged");
  return static_cast<size_t>(made);
}

}  // namespace headrace
