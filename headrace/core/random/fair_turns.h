// Turns of several sources in given shares, without history: whose turn a position is, and how many turns the
// source had before it, in O(1) for any position.
//
// Positions are grouped into cycles of N = the sum of the shares. After p positions of a cycle a source of
// share n has had floor(p·n / N) or one more turns, so it is never a whole turn ahead or behind; each cycle
// is exact. Within these bounds the order is random, drawn for several cycles in advance, and each cycle uses
// one of them by its number: no stride through the positions, such as the ranks of a shard, sees one source
// only. Layout, part of the contract (also implemented by tests/model/mixture.py):
//   key = words 0 and 1 of philox(key = seed, counter = (piece, 0x3117, 0, 0))
//   turn j of source i in variant v is due at release + draw, where its window is [release, deadline) =
//   [floor(j·N / n), ceil((j + 1)·N / n)), in 2^-16 of a position; draw = (word 0 of philox(key, (i, j, v,
//   0)) · (deadline - release)·2^16) >> 32 position t of the variant takes the source that is allowed there
//   and is due first, the lower one among equals, unless another could then not keep its deadline cycle c
//   uses variant (mix(key64 + (c + 1) · 0x9E3779B97F4A7C15) >> 32) · variants >> 32, with the finalizer of
//   splitmix64 as mix
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace headrace {

class FairTurns {
 public:
  static constexpr uint32_t kMostShares = 65521;  // of a cycle; a prime

  // REQUIRES: at least one share above 0, their sum at most kMostShares. `piece` distinguishes several pieces
  // of one seed.
  FairTurns(std::vector<uint32_t> shares, uint64_t seed, uint32_t piece);

  struct Turn {
    uint32_t source = 0;
    uint64_t before = 0;  // turns that the source had before this position
  };
  Turn at(uint64_t position) const {
    const uint64_t cycle = position / period_;
    const Entry& entry = turns_[variant(cycle) * period_ + (position - cycle * period_)];
    return {entry.source, cycle * shares_[entry.source] + entry.before};
  }
  uint64_t taken(uint32_t source, uint64_t end) const;  // turns of a source in the positions before `end`
  // The position of its turn after `before` others; 2^64 - 1 when it has none, or none below 2^63.
  uint64_t position_of(uint32_t source, uint64_t before) const;

 private:
  struct Entry {
    uint16_t source, before;
  };
  uint64_t variant(uint64_t cycle) const {
    uint64_t z = key_ + (cycle + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    z ^= z >> 31;
    return (z >> 32) * variants_ >> 32;
  }
  void draw(uint32_t variant);

  std::vector<uint32_t> shares_;
  uint64_t period_ = 0, variants_ = 0, key_ = 0;
  std::vector<Entry> turns_;  // of each variant, one after the other
};

// Integer shares in the proportions of `weights`: the smallest that are exact up to 10^-7 of a share, if
// their sum is at most FairTurns::kMostShares; else the nearest with that sum. Empty when a weight is too
// small next to the others to get a share. REQUIRES: finite weights of at least 0, not all 0.
std::vector<uint32_t> shares_of(std::span<const double> weights);

}  // namespace headrace
