// What names the elements that a cache keeps.
#pragma once
#include <cstdint>

#include "headrace/graph/node.h"

namespace headrace {

// The plan with the key of each `cache()` in it: another one where elements would be others. Which files are
// read and what they hold is not in it (see data_key). REQUIRES: numbered.
NodePtr with_cache_keys(const NodePtr& node, uint64_t seed);

}  // namespace headrace
