// Sources chosen one by one by a list of numbers: which source is at a position, and which of its elements.
// Immutable once settled.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "headrace/core/random/mixture.h"

namespace headrace {

class Choices {
 public:
  // `sources[i]` is chosen i-th; each must be below `count`.
  static Result<Choices> make(std::span<const int64_t> sources, uint32_t count);

  bool has(uint64_t position) const { return position < turns_.size(); }
  Mixture::Turn at(uint64_t position) const {  // REQUIRES: has(position)
    return {turns_[position].source, turns_[position].index};
  }
  // For sources of these sizes: with all_exhausted, choices of exhausted sources are left out. Returns the
  // number of positions; an error where `cycle` chooses an empty source.
  Result<uint64_t> settle(MixStop stop, std::span<const uint64_t> sizes);
  bool is_lasting(uint32_t) const { return false; }  // it ends with its list

 private:
  struct Turn {
    uint32_t source, index;
  };
  std::vector<Turn> turns_;
};

}  // namespace headrace
