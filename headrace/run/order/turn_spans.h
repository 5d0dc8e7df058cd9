// The turns of an interleave as spans of positions within which the same inputs take turns, so that a
// position is found by a search and a division.
#pragma once
#include <cstdint>
#include <vector>

namespace headrace {

class TurnSpans {
 public:
  struct Place {
    uint32_t child = 0;
    uint64_t index = 0;  // of an element of it
  };
  TurnSpans() = default;
  // `cycle` inputs with these totals at a time, `block` elements a turn.
  TurnSpans(std::vector<uint64_t> totals, uint64_t cycle, uint64_t block);
  // REQUIRES: position is below the sum of the totals.
  Place at(uint64_t position) const;

 private:
  struct Turn {
    uint32_t child;
    uint64_t first;  // its first element
  };
  // Rounds in which each of `turns` gives `block` elements.
  struct Span {
    uint64_t start = 0;
    uint64_t block = 1;
    std::vector<Turn> turns;
  };
  class Simulation;

  std::vector<Span> spans_;
};

}  // namespace headrace
