// The state of an iteration as JSON: a fingerprint, an epoch, and how much of it was handed out.
#pragma once
#include <optional>
#include <string>

#include "headrace/core/value.h"
#include "headrace/run/streams/shard_assignment.h"

namespace headrace {

// The position of an iteration. With random access `consumed` (samples, over all ranks) is enough and fits
// any world size; with a filter, unbatch or window shuffle it is a cursor of this rank.
struct IterationState {
  uint64_t epoch = 0;
  uint64_t consumed = 0;
  bool elastic = true;
  bool finished = false;
  Cursor cursor{};
  std::optional<Value>
      streams{};           // the cursor as it was read, with names; the loader makes it one of numbers
  uint64_t delivered = 0;  // with a cursor or an assignment: elements of this epoch handed out by this rank
  uint64_t round = 0;      // with steps=: how often this rank began its outputs again
  std::optional<AssignmentPlace> dealt;  // instead of a cursor
  std::string order{};   // a hash of what the user's orders gave for the epoch; empty: there are none
  std::string bound_by;  // the verb that prevents merging the states of all ranks
  std::optional<uint32_t> rank, world;  // the rank and world of the cursor; empty: any
};

// `root`: the streams of the cursor, which name its numbers; null where there is no cursor.
Value state_to_value(const IterationState& where, const std::string& fingerprint, const Stream* root);
// Parses a state of any plan.
Result<IterationState> read_state(const Value& state);
// An error for a state with a "check" that is not that of its other members. States of earlier versions have
// none.
Status check_sum(const Value& state);
// An error for another version, another plan, or changed data. `root`: the streams of this plan.
Result<IterationState> state_from_value(const Value& state, const std::string& fingerprint,
                                        const Stream& root);

}  // namespace headrace
