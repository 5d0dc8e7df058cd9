// Frames of zstd that store their content uncompressed. The layout is RFC 8878's, 3.1.1.
#include "headrace/codecs/packed/unpack.h"
#include "headrace/core/little_endian.h"

namespace headrace {
namespace {

constexpr uint32_t kZstdMagic = 0xfd2fb528;
constexpr size_t kMostRaw = 128 << 10;                         // bytes of a block
constexpr unsigned kLeastWindowLog = 17, kMostWindowLog = 31;  // of that many; that the library accepts

// Little-endian, of up to eight bytes.
uint64_t load_some(std::span<const std::byte> bytes) {
  uint64_t out = 0;
  for (size_t i = 0; i < bytes.size(); ++i) out |= std::to_integer<uint64_t>(bytes[i]) << 8 * i;
  return out;
}

}  // namespace

std::optional<std::span<const std::byte>> stored_in_zstd(std::span<const std::byte> packed) {
  constexpr size_t kFixed = 5, kBlockHeader = 3;
  if (packed.size() < kFixed + 1 || load<uint32_t>(packed) != kZstdMagic) return std::nullopt;
  const auto descriptor = std::to_integer<unsigned>(packed[4]), size_flag = descriptor >> 6;
  const bool is_single = (descriptor & 0x20) != 0;    // it states its size and no window
  if ((descriptor & 0x0f) != 0) return std::nullopt;  // reserved, a checksum, a dictionary
  const auto window_log = 10 + (std::to_integer<unsigned>(packed[5]) >> 3);
  if (!is_single && (window_log < kLeastWindowLog || window_log > kMostWindowLog)) return std::nullopt;
  const size_t size_at = kFixed + (is_single ? 0 : 1);
  const size_t size_bytes = size_flag == 0 ? (is_single ? 1 : 0) : size_t{1} << size_flag;
  const size_t block_at = size_at + size_bytes;
  if (packed.size() < block_at + kBlockHeader) return std::nullopt;
  const uint64_t said = load_some(packed.subspan(size_at, size_bytes)) + (size_flag == 1 ? 256 : 0);
  const uint64_t block = load_some(packed.subspan(block_at, kBlockHeader)), length = block >> 3;
  const bool is_last_and_raw = (block & 7) == 1;
  const auto data = packed.subspan(block_at + kBlockHeader);
  if (!is_last_and_raw || length > kMostRaw || data.size() != length || (size_bytes > 0 && said != length))
    return std::nullopt;
  return data;
}

}  // namespace headrace
