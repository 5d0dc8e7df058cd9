// Merges the states of all ranks into one, for plans whose ranks are at different positions: those with a
// filter, unbatch or on_error("skip") after the shard.
#pragma once
#include <span>
#include <string>

#include "headrace/core/value.h"

namespace headrace {

// One state that resumes with any world size, from those that all ranks of a world saved after the same
// number of elements; in any order. No sample is lost or repeated. Returns an error with the reason if they
// cannot be merged.
Result<Value> merge_states(std::span<const Value> states);

// Why states of a plan with this verb after its shard cannot be merged.
std::string why_not_merged(const std::string& bound_by);

}  // namespace headrace
