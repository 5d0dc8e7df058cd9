#include "headrace/formats/array_record/highway_hash.h"

#include <array>
#include <bit>

#include "headrace/core/little_endian.h"

namespace headrace {
namespace {

using Lanes = std::array<uint64_t, 4>;

constexpr Lanes kKey = {0x2f696c6567656952, 0x0a7364726f636572, 0x2f696c6567656952, 0x0a7364726f636572};
constexpr Lanes kFirst = {0xdbe6d5d5fe4cce2f, 0xa4093822299f31d0, 0x13198a2e03707344, 0x243f6a8885a308d3};
constexpr Lanes kSecond = {0x3bd39e10cb0ef593, 0xc0acf169b5f18a8c, 0xbe5466cf34e90c6c, 0x452821e638d01377};

// Bytes of both numbers in another order, added to two others.
void zipper(uint64_t high, uint64_t low, uint64_t& to_high, uint64_t& to_low) {
  to_low += ((low & 0xff000000) | (high & 0xff00000000)) >> 24 |
            ((low & 0xff0000000000) | (high & 0xff000000000000)) >> 16 | (low & 0xff0000) |
            (low & 0xff00) << 32 | (high & 0xff00000000000000) >> 8 | low << 56;
  to_high += ((high & 0xff000000) | (low & 0xff00000000)) >> 24 | (high & 0xff0000) |
             (high & 0xff0000000000) >> 16 | (high & 0xff00) << 24 | (low & 0xff000000000000) >> 8 |
             (high & 0xff) << 48 | (low & 0xff00000000000000);
}

struct HighwayState {
  Lanes v0, v1, mul0 = kFirst, mul1 = kSecond;

  HighwayState() {
    for (size_t i = 0; i < 4; ++i) v0[i] = mul0[i] ^ kKey[i], v1[i] = mul1[i] ^ std::rotr(kKey[i], 32);
  }

  void update(const Lanes& packet) {
    for (size_t i = 0; i < 4; ++i) {
      v1[i] += mul0[i] + packet[i];
      mul0[i] ^= (v1[i] & 0xffffffff) * (v0[i] >> 32);
      v0[i] += mul1[i];
      mul1[i] ^= (v0[i] & 0xffffffff) * (v1[i] >> 32);
    }
    zipper(v1[1], v1[0], v0[1], v0[0]), zipper(v1[3], v1[2], v0[3], v0[2]);
    zipper(v0[1], v0[0], v1[1], v1[0]), zipper(v0[3], v0[2], v1[3], v1[2]);
  }

  // The last bytes, fewer than 32.
  void update_rest(std::span<const std::byte> rest) {
    const size_t size = rest.size(), whole = size & ~size_t{3}, left = size & 3;
    std::array<std::byte, 32> packet{};
    for (size_t i = 0; i < 4; ++i) {
      v0[i] += (uint64_t{size} << 32) + size;
      const uint32_t low = std::rotl(static_cast<uint32_t>(v1[i]), static_cast<int>(size));
      const uint32_t high = std::rotl(static_cast<uint32_t>(v1[i] >> 32), static_cast<int>(size));
      v1[i] = uint64_t{high} << 32 | low;
    }
    std::memcpy(packet.data(), rest.data(), whole);
    if (size & 16)
      std::memcpy(packet.data() + 28, rest.data() + size - 4, 4);
    else if (left > 0)
      packet[16] = rest[whole], packet[17] = rest[whole + left / 2], packet[18] = rest[whole + left - 1];
    update(lanes(packet.data()));
  }

  uint64_t finish() {
    for (int n = 0; n < 4; ++n)
      update({std::rotr(v0[2], 32), std::rotr(v0[3], 32), std::rotr(v0[0], 32), std::rotr(v0[1], 32)});
    return v0[0] + v1[0] + mul0[0] + mul1[0];
  }

  static Lanes lanes(const std::byte* at) {
    Lanes out;
    std::memcpy(out.data(), at, sizeof out);
    return out;
  }
};

}  // namespace

uint64_t riegeli_hash(std::span<const std::byte> bytes) {
  HighwayState state;
  for (; bytes.size() >= 32; bytes = bytes.subspan(32)) state.update(HighwayState::lanes(bytes.data()));
  if (!bytes.empty()) state.update_rest(bytes);
  return state.finish();
}

}  // namespace headrace
