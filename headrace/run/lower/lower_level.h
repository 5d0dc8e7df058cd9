// Lowers nodes with random access to a Level (order/level.h).
#pragma once
#include <cstdint>
#include <memory>

#include "headrace/run/order/level.h"

namespace headrace {

// REQUIRES: node->indexed, or an interleave of such whose length differs between epochs; numbered. Leaves are
// numbered from `leaves` on.
Result<std::unique_ptr<Level>> lower_level(const Node& node, uint32_t& leaves);

}  // namespace headrace
