// The assignment of inputs to ranks, below a filter or an unbatch: each input goes to exactly one rank,
// without evening out. A ShardAssignment describes which inputs are left after earlier worlds; an
// AssignmentPlace is the position of one rank.
#pragma once
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "headrace/core/value.h"
#include "headrace/run/streams/stream.h"

namespace headrace {

// Rank r of a world of W takes inputs r, r + W … of those that earlier worlds left.
struct ShardAssignment {
  std::vector<std::vector<uint64_t>> taken;  // for each earlier world: how many inputs each of its ranks took
  // Positions of inputs with outputs left to hand out, ascending, and how many were handed out.
  std::vector<std::pair<uint64_t, uint64_t>> partial;

  bool operator==(const ShardAssignment&) const = default;

  uint64_t position(uint64_t ordinal) const;  // of the input number `ordinal` of the remaining ones
  // Its number among the remaining inputs; empty if it was taken.
  std::optional<uint64_t> ordinal(uint64_t position) const;
  uint64_t handed_out(uint64_t position) const;  // outputs of a partial input; 0 for others
};

struct AssignmentPlace {
  ShardAssignment deal;
  struct Round {
    uint64_t number = 0;   // 0: the assignment itself; later rounds begin the epoch again, to even out
    uint64_t taken = 0;    // inputs whose outputs were all handed out
    uint64_t outputs = 0;  // outputs of the next input that were handed out
  };
  uint64_t taken = 0;  // in round 0, when `round` is a later one
  Round round;
};

Value assignment_to_value(const AssignmentPlace& place);
Result<AssignmentPlace> assignment_from_value(const Value& value);
// An error where a rank took more than its share of the inputs. `inputs`: their number; `shard`: that of the
// rank whose place it is.
Status check_assignment(const AssignmentPlace& place, uint64_t inputs, const Shard& shard);

// Merges what all ranks took into one assignment for any world. REQUIRES: places of all ranks in order, of
// one assignment.
ShardAssignment merge_assignments(std::span<const AssignmentPlace> ranks);

// The inputs of one rank, up to `block` at a time; its cursor is that of save_assignment() without `outputs`.
StreamPtr assigned_stream(std::shared_ptr<const Level> level, uint64_t block, const Shard& shard);
// The cursor of the stage right above an assigned_stream, and back.
void save_assignment(const AssignmentPlace& place, Cursor& cursor);
AssignmentPlace restore_assignment(CursorReader& cursor);

}  // namespace headrace
