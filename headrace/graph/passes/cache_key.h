// The key of the elements in a cache.
#pragma once
#include <cstdint>

#include "headrace/graph/node.h"

namespace headrace {

// The plan with the key of each `cache()` filled in: it differs where elements would differ. Which files are
// read and their content is not part of it (see data_key). REQUIRES: numbered.
NodePtr with_cache_keys(const NodePtr& node, uint64_t seed);

}  // namespace headrace
