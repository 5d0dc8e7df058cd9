// Draws from weights in O(1): Walker's alias method in integers, the same on every machine.
//
// Layout, part of the contract (also implemented by tests/model/sampling.py):
//   integer weights: w · 2^s rounded down after adding 1/2, where the largest weight lies in [2^(b - 1), 2^b)
//   and b = min(40, 63 - the bits of n)
//   Vose's tables: of the columns that are too small and too large, the last of each list are paired; both
//   lists are filled in ascending order
//   a draw from two words of 64 bits: column (word 0 · n) >> 64, kept when word 1 < threshold · 2^64
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "headrace/core/random/key.h"
#include "headrace/core/status.h"

namespace headrace {

class AliasTable {
 public:
  // An error unless the weights are finite, at least 0, and not all 0.
  static Result<AliasTable> make(std::span<const double> weights);

  uint64_t draw(uint64_t word0, uint64_t word1) const {
    __extension__ using Wide = unsigned __int128;
    const auto column = static_cast<size_t>(static_cast<Wide>(word0) * columns_.size() >> 64);
    // Without a branch, which would be unpredictable.
    const uint64_t kept = uint64_t{0} - (word1 < columns_[column].threshold);
    return (column & kept) | (columns_[column].alias & ~kept);
  }
  // Draw number `position` of an epoch: from philox(key = seed, counter = (position, epoch)).
  uint64_t draw_at(uint64_t seed, uint64_t epoch, uint64_t position) const {
    const auto [low, high] = halves(position);
    const auto [epoch_low, epoch_high] = halves(epoch);
    const PhiloxBlock words = philox4x32({low, high, epoch_low, epoch_high}, halves(seed));
    return draw(word64(words, 0), word64(words, 2));
  }
  uint64_t size() const { return columns_.size(); }

 private:
  struct Column {
    uint64_t threshold = 0, alias = 0;  // the column itself below the threshold
  };
  std::vector<Column> columns_;
};

}  // namespace headrace
