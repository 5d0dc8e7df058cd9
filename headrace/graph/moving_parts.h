// Caches that never hold all that a rank needs: a shard deals each epoch's order anew, so the rank gets other
// samples in each, and the cache comes to keep those of all ranks.
#pragma once
#include <string_view>
#include <vector>

#include "headrace/graph/handles.h"

namespace headrace {

inline constexpr std::string_view kPartsMove =
    "shard gives this rank other samples each epoch, and the cache keeps all of them; shard(fixed=True) "
    "before the cache, with the shuffle after it, keeps this rank's part";

// The cache verbs of the plan for which that holds. A shard of one process deals nothing; one that takes its
// ranks from the environment counts only if `of_any_world`.
std::vector<const Node*> caches_of_moving_parts(const Node& root, bool of_any_world);

}  // namespace headrace
