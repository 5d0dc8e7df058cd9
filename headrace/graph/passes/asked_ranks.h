// shard() without numbers: its ranks are those of the process that runs the plan, so they are asked there.
#pragma once
#include "headrace/graph/handles.h"
#include "headrace/graph/ranks.h"

namespace headrace {

// Whether a shard of the plan asks for them.
bool asks_ranks(const Node& root);

// The plan of a process with these ranks; sizes are inferred again. The same tree where no shard asks, or all
// have them already. An error if a shard cannot have them.
Result<NodePtr> with_ranks(const NodePtr& root, const Ranks& ranks);

}  // namespace headrace
