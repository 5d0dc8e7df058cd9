// SHA-1 of some bytes as hex digits, for tests that compare pixels with hashes written down elsewhere. Not
// for trust.
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace headrace::testing {

inline std::string sha1_hex(std::span<const uint8_t> bytes) {
  std::array<uint32_t, 5> state{0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
  const auto mix = [&state](const uint8_t* block) {
    std::array<uint32_t, 80> w;
    for (size_t i = 0; i < 16; ++i)
      w[i] = uint32_t{block[4 * i]} << 24 | uint32_t{block[4 * i + 1]} << 16 |
             uint32_t{block[4 * i + 2]} << 8 | block[4 * i + 3];
    for (size_t i = 16; i < 80; ++i) w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    auto [a, b, c, d, e] = state;
    for (size_t i = 0; i < 80; ++i) {
      const uint32_t f = i < 20              ? (b & c) | (~b & d)
                         : i >= 40 && i < 60 ? (b & c) | (b & d) | (c & d)
                                             : b ^ c ^ d;
      constexpr std::array<uint32_t, 4> k{0x5A827999, 0x6ED9EBA1, 0x8F1BBCDC, 0xCA62C1D6};
      const uint32_t next = std::rotl(a, 5) + f + e + k[i / 20] + w[i];
      e = d, d = c, c = std::rotl(b, 30), b = a, a = next;
    }
    state = {state[0] + a, state[1] + b, state[2] + c, state[3] + d, state[4] + e};
  };
  size_t at = 0;
  for (; bytes.size() - at >= 64; at += 64) mix(bytes.data() + at);
  std::vector<uint8_t> tail(bytes.begin() + static_cast<ptrdiff_t>(at), bytes.end());
  tail.push_back(0x80);
  while (tail.size() % 64 != 56) tail.push_back(0);
  for (int shift = 56; shift >= 0; shift -= 8)
    tail.push_back(static_cast<uint8_t>((uint64_t{bytes.size()} * 8) >> shift));
  for (at = 0; at < tail.size(); at += 64) mix(tail.data() + at);
  std::string out;
  for (const uint32_t word : state)
    for (int shift = 28; shift >= 0; shift -= 4) out += "0123456789abcdef"[(word >> shift) & 15];
  return out;
}

}  // namespace headrace::testing
