// States of all ranks made into one, for plans whose ranks each stand somewhere else: those with a filter,
// unbatch or on_error("skip") after the shard.
#pragma once
#include <span>
#include <string>

#include "headrace/core/value.h"

namespace headrace {

// One state that resumes on any world, from those that all ranks of a world saved after the same number of
// elements; in any order. No sample is lost and none repeated. Refuses what cannot be merged, and says why.
Result<Value> merge_states(std::span<const Value> states);

// Why states of a plan with this verb after its shard cannot be merged.
std::string why_not_merged(const std::string& bound_by);

}  // namespace headrace
