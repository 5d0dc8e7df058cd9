// A keyed permutation of [0, n) in O(1) memory: the order of a shuffled epoch. Depends on (seed, epoch, n)
// only.
//
// A Feistel network over Z_a x Z_b with a = ceil(sqrt n), b = ceil(n / a), applied until the value is below n
// (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002). The domain exceeds n by less than
// sqrt(n) + 1, so nearly every walk has one step. Layout, part of the contract (also implemented by
// tests/model/order.py):
//   round keys: (c_i, d_i) = words 0 and 1 of philox(key = seed, counter = (i, 0x5EED, epoch_lo, epoch_hi)),
//   i in 0..kRounds-1 x -> (l, r) = (x / b, x % b); even round: l = (l + (F(i, r) · a >> 32)) mod a; odd
//   round: r = (r + (F(i, l) · b >> 32)) mod b F(i, v) = hi(p) ^ lo(p) ^ d_i with the 64-bit product p = (v ^
//   c_i) · 0xD2511F53 (Philox's S-box)
// The domain ends at 2^62: a and b fit 32 bits.
#pragma once
#include <array>
#include <cstdint>
#include <span>

namespace headrace {

class Permutation {
 public:
  static constexpr int kRounds = 12;
  Permutation() = default;
  Permutation(uint64_t seed, uint64_t epoch, uint64_t n);

  uint64_t operator()(uint64_t x) const;         // REQUIRES: x < n
  void apply(std::span<uint64_t> values) const;  // the same for many: independent walks overlap

 private:
  void step(std::span<uint64_t> values) const;
  uint64_t n_ = 0;
  uint32_t a_ = 1, b_ = 1;
  std::array<std::array<uint32_t, 2>, kRounds> keys_{};
};

}  // namespace headrace
