// Randomness as a pure function. A Key names one draw site: (seed, operator, epoch, sample, occurrence,
// child). The same key gives the same numbers on every machine, with any number of workers, in any order.
//
// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). Layout, part of the
// contract (also implemented by tests/model/random.py):
//   k0 = seed
//   k1 = first 64 bits of philox(key = k0, counter = (ordinal, read, epoch_lo, epoch_hi))
//   k2 = first 64 bits of philox(key = k1, counter = (index_lo, index_hi, occurrence, child))
//   word d of the draws = word d % 4 of philox(key = k2, counter = (d / 4, 0, 0, 0))
#pragma once
#include <array>
#include <cstdint>

#include "headrace/core/sample.h"

namespace headrace {

using PhiloxBlock = std::array<uint32_t, 4>;
inline uint64_t word64(const PhiloxBlock& block, size_t at) {
  return block[at] | static_cast<uint64_t>(block[at + 1]) << 32;
}
PhiloxBlock philox4x32(PhiloxBlock counter, std::array<uint32_t, 2> key);

// The lower half first.
inline std::array<uint32_t, 2> halves(uint64_t x) {
  return {static_cast<uint32_t>(x), static_cast<uint32_t>(x >> 32)};
}

class Key {
 public:
  Key() = default;
  Key(uint64_t seed, uint32_t ordinal, const SampleId& id);
  // The same where k1 is known.
  Key(uint64_t k1, uint64_t index, uint32_t occurrence, uint32_t child);
  static uint64_t k1(uint64_t seed, uint32_t ordinal, uint32_t read, uint64_t epoch);

  uint32_t bits(uint32_t draw) const;  // word `draw` of this key's stream
  float uniform(uint32_t draw) const {
    return static_cast<float>(bits(draw) >> 8) * 0x1p-24f;
  }  // [0, 1), 24 bits
  double uniform64(uint32_t draw) const;          // [0, 1), 53 bits; uses words 2·draw and 2·draw + 1
  int64_t below(uint32_t draw, int64_t n) const;  // [0, n), unbiased up to 2^-32; REQUIRES: 0 < n < 2^32

 private:
  uint64_t stream_ = 0;
};

}  // namespace headrace
