// Several sources mixed by weights that may change at given positions: which source is at a position, and
// which of its elements, by arithmetic.
//
// A mixture is a list of pieces, each with fixed shares (FairTurns). A piece ends where the schedule says so,
// or where a source ends and is left out. A caller that knows the sizes of the sources passes them all to
// `settle`; one that learns of an end when it comes calls `leave_out` then. Both give the same order.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/core/random/fair_turns.h"
#include "headrace/core/status.h"

namespace headrace {

// When a mixture ends: with the first source that is exhausted, with the last one while those before are left
// out, or when all were exhausted, while sources that ended earlier repeat.
enum class MixStop : uint8_t { first_exhausted, all_exhausted, cycle };

struct MixWeights {
  uint64_t from = 0;  // position of the mixture
  std::vector<double> weights;
  bool operator==(const MixWeights&) const = default;
};

class Mixture {
 public:
  static constexpr uint64_t kEndless = ~uint64_t{0};

  // `schedule` begins at 0 and ascends; each step has a weight for each source.
  static Result<Mixture> make(std::vector<MixWeights> schedule, uint64_t seed);

  struct Turn {
    uint32_t source = 0;
    uint64_t index = 0;  // elements of the source before this one
  };
  bool has(uint64_t position) const { return position < pieces_.back().first || pieces_.back().turns; }
  Turn at(uint64_t position) const {  // REQUIRES: has(position)
    const Piece& piece = pieces_.size() == 1 ? pieces_.front() : piece_of(position);
    const FairTurns::Turn turn = piece.turns->at(position - piece.first);
    return {turn.source, piece.before[turn.source] + turn.before};
  }
  // Leaves out a source from this position on. REQUIRES: not below the positions of earlier calls.
  void leave_out(uint32_t source, uint64_t position);
  // Leaves out sources that end, for sources of these sizes; returns the number of positions. REQUIRES:
  // nothing was left out.
  uint64_t settle(MixStop stop, std::span<const uint64_t> sizes);
  // Whether `cycle` waits for this source: it has a weight at the end.
  bool is_lasting(uint32_t source) const { return schedule_.back().weights[source] > 0; }
  uint64_t position_of(uint32_t source, uint64_t index) const;  // kEndless when it never comes

 private:
  struct Piece {
    uint64_t first = 0;
    std::vector<uint64_t> before;    // turns of each source in the pieces before
    std::optional<FairTurns> turns;  // nothing: no source is left
  };
  const Piece& piece_of(uint64_t position) const;
  void begin_piece(uint64_t position);
  std::optional<FairTurns> turns_from(size_t step);

  std::vector<MixWeights> schedule_;
  uint64_t seed_ = 0;
  std::vector<bool> out_;
  std::vector<Piece> pieces_;  // at least one
};

}  // namespace headrace
