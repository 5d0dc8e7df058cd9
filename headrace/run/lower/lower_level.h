// Lowers nodes with random access to a Level (order/level.h).
#pragma once
#include <cstdint>
#include <memory>

#include "headrace/run/order/asked_orders.h"
#include "headrace/run/order/level.h"

namespace headrace {

// REQUIRES: node->indexed, or an interleave of such whose length differs between epochs; numbered. Leaves are
// numbered from `leaves` on. `asked`: of the plan that the node is part of; null if it has no reorder.
Result<std::unique_ptr<Level>> lower_level(const Node& node, uint32_t& leaves,
                                           const std::shared_ptr<const AskedOrders>& asked);

}  // namespace headrace
