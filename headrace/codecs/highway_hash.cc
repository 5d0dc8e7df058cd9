#include "headrace/codecs/highway_hash.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "headrace/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headrace/codecs/highway_hash.cc"
#include "hwy/foreach_target.h"
// After it.
#include "hwy/cache_control.h"
#include "hwy/highway.h"

#ifndef HEADRACE_CODECS_HIGHWAY_HASH
#define HEADRACE_CODECS_HIGHWAY_HASH
namespace headrace {

using HashLanes = std::array<uint64_t, 4>;
// v0, v1, mul0, mul1.
using HashNumbers = std::array<HashLanes, 4>;

inline constexpr size_t kHashPacket = sizeof(HashLanes);
inline constexpr HashLanes kHashFirst = {0xdbe6d5d5fe4cce2f, 0xa4093822299f31d0, 0x13198a2e03707344,
                                         0x243f6a8885a308d3};
inline constexpr HashLanes kHashSecond = {0x3bd39e10cb0ef593, 0xc0acf169b5f18a8c, 0xbe5466cf34e90c6c,
                                          0x452821e638d01377};
// The two above, and in v0 and v1 the same under the key.
inline constexpr HashLanes kHashKey = {0x2f696c6567656952, 0x0a7364726f636572, 0x2f696c6567656952,
                                       0x0a7364726f636572};
static constexpr HashNumbers kHashBegun = [] {
  HashNumbers out = {kHashFirst, kHashSecond, kHashFirst, kHashSecond};
  for (size_t i = 0; i < 4; ++i) out[0][i] ^= kHashKey[i], out[1][i] ^= std::rotr(kHashKey[i], 32);
  return out;
}();

// The last bytes, fewer than 32 and at least one, as a packet.
inline std::array<std::byte, kHashPacket> last_hash_packet(std::span<const std::byte> rest) {
  const size_t size = rest.size(), whole = size & ~size_t{3}, left = size & 3;
  std::array<std::byte, kHashPacket> packet{};
  std::memcpy(packet.data(), rest.data(), whole);
  if (size & 16)
    std::memcpy(packet.data() + 28, rest.data() + size - 4, 4);
  else if (left > 0)
    packet[16] = rest[whole], packet[17] = rest[whole + left / 2], packet[18] = rest[whole + left - 1];
  return packet;
}

void copy_hashed_scalar(HashNumbers& numbers, const std::byte* from, std::byte* to, size_t packets);

}  // namespace headrace
#endif

HWY_BEFORE_NAMESPACE();
namespace headrace {
namespace HWY_NAMESPACE {
#if HEADRACE_NO_SIMD

uint64_t hash_bytes(std::span<const std::byte> bytes) { return riegeli_hash_scalar(bytes); }
void copy_hashed(HashNumbers& numbers, const std::byte* from, std::byte* to, size_t packets) {
  copy_hashed_scalar(numbers, from, to, packets);
}

#else
namespace hn = hwy::HWY_NAMESPACE;

// The four numbers are one vector of 32 bytes, or two halves where vectors are shorter: in rounds they never
// mix.
using D64 = hn::CappedTag<uint64_t, 4>;
using D32 = hn::Repartition<uint32_t, D64>;
using V64 = hn::Vec<D64>;
constexpr size_t kLanes = hn::MaxLanes(D64()), kParts = 4 / kLanes;

HWY_INLINE V64 load(const void* at) {
  return hn::BitCast(D64(), hn::LoadU(hn::Repartition<uint8_t, D64>(), static_cast<const uint8_t*>(at)));
}

HWY_INLINE V64 halves_swapped(V64 v) { return hn::BitCast(D64(), hn::Shuffle2301(hn::BitCast(D32(), v))); }

// The products of the low 32 bits of one and the high 32 bits of the other.
HWY_INLINE V64 product(V64 low, V64 high) {
  return hn::MulEven(hn::BitCast(D32(), low), hn::BitCast(D32(), hn::ShiftRight<32>(high)));
}

// Permutes the bytes of two neighbours.
HWY_INLINE V64 zipped(V64 v) {
  alignas(16) static constexpr uint8_t kPlaces[16] = {3, 12, 2, 5, 14, 1, 15, 0, 11, 4, 10, 13, 9, 6, 8, 7};
  const hn::Repartition<uint8_t, D64> d8;
  return hn::BitCast(D64(), hn::TableLookupBytes(hn::BitCast(d8, v), hn::LoadDup128(d8, kPlaces)));
}

struct Part {
  V64 v0, v1, mul0, mul1;

  HWY_INLINE Part(const HashNumbers& numbers, size_t first)
      : v0(load(&numbers[0][first])),
        v1(load(&numbers[1][first])),
        mul0(load(&numbers[2][first])),
        mul1(load(&numbers[3][first])) {}
  HWY_INLINE void store(HashNumbers& out, size_t first) const {
    hn::StoreU(v0, D64(), &out[0][first]), hn::StoreU(v1, D64(), &out[1][first]);
    hn::StoreU(mul0, D64(), &out[2][first]), hn::StoreU(mul1, D64(), &out[3][first]);
  }

  HWY_INLINE void update(V64 packet) {
    v1 = hn::Add(v1, hn::Add(mul0, packet));
    mul0 = hn::Xor(mul0, product(v1, v0));
    v0 = hn::Add(v0, mul1);
    mul1 = hn::Xor(mul1, product(v0, v1));
    v0 = hn::Add(v0, zipped(v1));
    v1 = hn::Add(v1, zipped(v0));
  }
  HWY_INLINE void mix_size(size_t size) {
    v0 = hn::Add(v0, hn::Set(D64(), (uint64_t{size} << 32) + size));
    const auto halves = hn::BitCast(D32(), v1);
    v1 = hn::BitCast(D64(), hn::Or(hn::ShiftLeftSame(halves, static_cast<int>(size)),
                                   hn::ShiftRightSame(halves, static_cast<int>(32 - size))));
  }
};

struct State {
  Part parts[kParts];

#if HWY_MAX_BYTES >= 32
  HWY_INLINE explicit State(const HashNumbers& numbers) : parts{Part(numbers, 0)} {}
#else
  HWY_INLINE explicit State(const HashNumbers& numbers) : parts{Part(numbers, 0), Part(numbers, kLanes)} {}
#endif

  HWY_INLINE void update(const std::byte* packet) {
    for (size_t i = 0; i < kParts; ++i) parts[i].update(load(packet + i * kLanes * sizeof(uint64_t)));
  }
  HWY_INLINE void permute_and_update() {
    V64 packets[kParts];
    for (size_t i = 0; i < kParts; ++i) packets[i] = halves_swapped(parts[kParts - 1 - i].v0);
#if HWY_MAX_BYTES >= 32
    packets[0] = hn::SwapAdjacentBlocks(packets[0]);
#endif
    for (size_t i = 0; i < kParts; ++i) parts[i].update(packets[i]);
  }
};

uint64_t hash_bytes(std::span<const std::byte> bytes) {
  State state(kHashBegun);
  const std::byte* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= kHashPacket; at += kHashPacket, left -= kHashPacket) state.update(at);
  if (left > 0) {
    for (Part& part : state.parts) part.mix_size(left);
    state.update(last_hash_packet({at, left}).data());
  }
  for (int n = 0; n < 4; ++n) state.permute_and_update();
  const Part& first = state.parts[0];
  return hn::GetLane(hn::Add(hn::Add(first.v0, first.v1), hn::Add(first.mul0, first.mul1)));
}

// Each packet is loaded once: what is stored is what is hashed, even when another thread writes to the
// source.
void copy_hashed(HashNumbers& numbers, const std::byte* from, std::byte* to, size_t packets) {
  constexpr size_t kAhead = 4096;  // bytes: a processor prefetches only within a page
  State state(numbers);
  for (size_t at = 0; at < packets * kHashPacket; at += kHashPacket) {
    if (at % 64 == 0) hwy::Prefetch(from + at + kAhead);
    for (size_t i = 0; i < kParts; ++i) {
      const size_t part = at + i * kLanes * sizeof(uint64_t);
      const V64 packet = load(from + part);
      hn::StoreU(hn::BitCast(hn::Repartition<uint8_t, D64>(), packet), hn::Repartition<uint8_t, D64>(),
                 reinterpret_cast<uint8_t*>(to + part));
      state.parts[i].update(packet);
    }
  }
  for (size_t i = 0; i < kParts; ++i) state.parts[i].store(numbers, i * kLanes);
}

#endif
}  // namespace HWY_NAMESPACE
}  // namespace headrace
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace {
namespace {

HWY_EXPORT(hash_bytes);
HWY_EXPORT(copy_hashed);

// Permutes the bytes of both numbers and adds them to two others.
void zipper(uint64_t high, uint64_t low, uint64_t& to_high, uint64_t& to_low) {
  to_low += ((low & 0xff000000) | (high & 0xff00000000)) >> 24 |
            ((low & 0xff0000000000) | (high & 0xff000000000000)) >> 16 | (low & 0xff0000) |
            (low & 0xff00) << 32 | (high & 0xff00000000000000) >> 8 | low << 56;
  to_high += ((high & 0xff000000) | (low & 0xff00000000)) >> 24 | (high & 0xff0000) |
             (high & 0xff0000000000) >> 16 | (high & 0xff00) << 24 | (low & 0xff000000000000) >> 8 |
             (high & 0xff) << 48 | (low & 0xff00000000000000);
}

HashLanes lanes_at(const std::byte* at) {
  HashLanes out;
  std::memcpy(out.data(), at, sizeof out);
  return out;
}

struct HashState {
  HashLanes v0, v1, mul0, mul1;

  explicit HashState(const HashNumbers& numbers)
      : v0(numbers[0]), v1(numbers[1]), mul0(numbers[2]), mul1(numbers[3]) {}
  HashNumbers numbers() const { return {v0, v1, mul0, mul1}; }

  void update(const HashLanes& packet) {
    for (size_t i = 0; i < 4; ++i) {
      v1[i] += mul0[i] + packet[i];
      mul0[i] ^= (v1[i] & 0xffffffff) * (v0[i] >> 32);
      v0[i] += mul1[i];
      mul1[i] ^= (v0[i] & 0xffffffff) * (v1[i] >> 32);
    }
    zipper(v1[1], v1[0], v0[1], v0[0]), zipper(v1[3], v1[2], v0[3], v0[2]);
    zipper(v0[1], v0[0], v1[1], v1[0]), zipper(v0[3], v0[2], v1[3], v1[2]);
  }
  void mix_size(size_t size) {
    for (size_t i = 0; i < 4; ++i) {
      v0[i] += (uint64_t{size} << 32) + size;
      const uint32_t low = std::rotl(static_cast<uint32_t>(v1[i]), static_cast<int>(size));
      const uint32_t high = std::rotl(static_cast<uint32_t>(v1[i] >> 32), static_cast<int>(size));
      v1[i] = uint64_t{high} << 32 | low;
    }
  }
  // rest: what comes after the last whole packet.
  uint64_t finish(std::span<const std::byte> rest) {
    if (!rest.empty()) {
      mix_size(rest.size());
      update(lanes_at(last_hash_packet(rest).data()));
    }
    for (int n = 0; n < 4; ++n)
      update({std::rotr(v0[2], 32), std::rotr(v0[3], 32), std::rotr(v0[0], 32), std::rotr(v0[1], 32)});
    return v0[0] + v1[0] + mul0[0] + mul1[0];
  }
};

}  // namespace

void copy_hashed_scalar(HashNumbers& numbers, const std::byte* from, std::byte* to, size_t packets) {
  HashState state(numbers);
  for (size_t at = 0; at < packets * kHashPacket; at += kHashPacket) {
    const HashLanes packet = lanes_at(from + at);
    std::memcpy(to + at, packet.data(), kHashPacket);
    state.update(packet);
  }
  numbers = state.numbers();
}

RiegeliCopy::RiegeliCopy(std::byte* to) : to_(to), lanes_(kHashBegun) {}

void RiegeliCopy::add(std::span<const std::byte> bytes) {
  const auto copy = [&](size_t size) {
    if (size > 0) std::memcpy(to_ + copied_, bytes.data(), size);
    copied_ += size, bytes = bytes.subspan(size);
  };
  if (const size_t begun = copied_ - hashed_; begun > 0) {
    copy(std::min(kHashPacket - begun, bytes.size()));
    if (copied_ - hashed_ < kHashPacket) return;
    copy_hashed_scalar(lanes_, to_ + hashed_, to_ + hashed_, 1);
    hashed_ = copied_;
  }
  const size_t packets = bytes.size() / kHashPacket, size = packets * kHashPacket;
  HWY_DYNAMIC_DISPATCH(copy_hashed)(lanes_, bytes.data(), to_ + copied_, packets);
  copied_ += size, hashed_ = copied_, bytes = bytes.subspan(size);
  copy(bytes.size());
}

uint64_t RiegeliCopy::hash() const { return HashState(lanes_).finish({to_ + hashed_, copied_ - hashed_}); }

uint64_t riegeli_hash(std::span<const std::byte> bytes) { return HWY_DYNAMIC_DISPATCH(hash_bytes)(bytes); }

uint64_t riegeli_hash_scalar(std::span<const std::byte> bytes) {
  HashState state(kHashBegun);
  for (; bytes.size() >= kHashPacket; bytes = bytes.subspan(kHashPacket))
    state.update(lanes_at(bytes.data()));
  return state.finish(bytes);
}

}  // namespace headrace
#endif
