// A deal of inputs among ranks, below a filter or an unbatch: each input goes to one rank, none twice to even
// out. A ShardAssignment says what is left to be dealt after worlds that went before; a AssignmentPlace where
// one rank stands.
#pragma once
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "headrace/core/value.h"
#include "headrace/run/streams/stream.h"

namespace headrace {

// Rank r of a world of W takes inputs r, r + W … of what the worlds before it left.
struct ShardAssignment {
  std::vector<std::vector<uint64_t>> taken;  // of each world before: how many inputs each of its ranks took
  std::vector<std::pair<uint64_t, uint64_t>>
      partial;  // positions of inputs not all of whose outputs were handed out, ascending, and how many were

  bool operator==(const ShardAssignment&) const = default;

  uint64_t position(uint64_t ordinal) const;  // of the input that stands at `ordinal` of what is left
  // Its place in what is left; nothing when it was taken.
  std::optional<uint64_t> ordinal(uint64_t position) const;
  uint64_t handed_out(uint64_t position) const;  // outputs of a partial input; 0 for others
};

struct AssignmentPlace {
  ShardAssignment deal;
  struct Round {
    uint64_t number = 0;   // 0: the deal itself; later ones begin the epoch again, to even out
    uint64_t taken = 0;    // inputs all of whose outputs were handed out
    uint64_t outputs = 0;  // handed out of the next input
  };
  uint64_t taken = 0;  // in round 0, when `round` is a later one
  Round round;
};

Value assignment_to_value(const AssignmentPlace& place);
Result<AssignmentPlace> assignment_from_value(const Value& value);

// What all ranks took, as one deal for any world. REQUIRES: places of all ranks in order, of one deal.
ShardAssignment merge_assignments(std::span<const AssignmentPlace> ranks);

// The inputs of one rank, up to `block` at a time; its cursor is `deal_cursor` without `outputs`.
StreamPtr assigned_stream(std::shared_ptr<const Level> level, uint64_t block, const Shard& shard);
// The cursor of the stage right above a assigned_stream, and back.
void save_assignment(const AssignmentPlace& place, Cursor& cursor);
AssignmentPlace restore_assignment(CursorReader& cursor);

}  // namespace headrace
