#include "headrace/codecs/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#define HEADRACE_CRC_TARGET __attribute__((target("sse4.2")))
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#define HEADRACE_CRC_TARGET
#endif

namespace headrace {
namespace {

constexpr std::array<uint32_t, 256> kTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0x82F63B78u : 0u);
    table[i] = crc;
  }
  return table;
}();

uint32_t by_table(uint32_t crc, const std::byte* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i)
    crc = (crc >> 8) ^ kTable[(crc ^ std::to_integer<uint32_t>(bytes[i])) & 0xff];
  return crc;
}

#ifdef HEADRACE_CRC_TARGET

constexpr size_t kStream =
    1024;  // bytes; below 512 the cost of joining streams shows, above 4096 there is little to gain

// Bytes that are prefetched. The processor does so by itself only up to the end of a page; prefetching beyond
// the data is harmless.
constexpr size_t kAhead = 6 * kStream;

// The effect of kStream zero bytes on a register, for each byte of it: the register is linear over them.
constexpr auto kSkip = [] {
  std::array<uint32_t, 32> of_bit{};
  for (size_t bit = 0; bit < 32; ++bit) {
    uint32_t crc = uint32_t{1} << bit;
    for (size_t i = 0; i < kStream; ++i) crc = (crc >> 8) ^ kTable[crc & 0xff];
    of_bit[bit] = crc;
  }
  std::array<std::array<uint32_t, 256>, 4> out{};
  for (size_t byte = 0; byte < 4; ++byte)
    for (size_t value = 0; value < 256; ++value)
      for (size_t bit = 0; bit < 8; ++bit)
        if (value >> bit & 1) out[byte][value] ^= of_bit[8 * byte + bit];
  return out;
}();

uint32_t skip(uint64_t crc) {
  return kSkip[0][crc & 0xff] ^ kSkip[1][crc >> 8 & 0xff] ^ kSkip[2][crc >> 16 & 0xff] ^
         kSkip[3][crc >> 24 & 0xff];
}

uint64_t load(const std::byte* bytes) {
  uint64_t out;
  std::memcpy(&out, bytes, sizeof out);
  return out;
}

HEADRACE_CRC_TARGET inline uint64_t step(uint64_t crc, uint64_t eight) {
#if defined(__x86_64__)
  return _mm_crc32_u64(crc, eight);
#else
  return __crc32cd(static_cast<uint32_t>(crc), eight);
#endif
}

HEADRACE_CRC_TARGET uint32_t by_instruction(uint32_t start, const std::byte* bytes, size_t count) {
  uint64_t crc = start;
  // The instruction takes three cycles and a new one can start in each.
  for (; count >= 3 * kStream; bytes += 3 * kStream, count -= 3 * kStream) {
    uint64_t second = 0, third = 0;
    for (size_t i = 0; i < kStream; i += 8) {
      if (i % 64 == 0)
        for (size_t n = 0; n < 3; ++n) __builtin_prefetch(bytes + kAhead + n * kStream + i);
      crc = step(crc, load(bytes + i));
      second = step(second, load(bytes + kStream + i));
      third = step(third, load(bytes + 2 * kStream + i));
    }
    crc = skip(skip(crc) ^ second) ^ third;
  }
  for (; count >= 8; bytes += 8, count -= 8) crc = step(crc, load(bytes));
  return by_table(static_cast<uint32_t>(crc), bytes, count);
}

bool has_instruction() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("sse4.2");
  return has;
#else
  return true;
#endif
}

#endif

}  // namespace

uint32_t crc32c_by_table(std::span<const std::byte> bytes) {
  return ~by_table(~0u, bytes.data(), bytes.size());
}

uint32_t crc32c(std::span<const std::byte> bytes) {
#ifdef HEADRACE_CRC_TARGET
  if (has_instruction()) return ~by_instruction(~0u, bytes.data(), bytes.size());
#endif
  return crc32c_by_table(bytes);
}

}  // namespace headrace
