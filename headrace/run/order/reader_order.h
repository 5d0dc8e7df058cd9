// Interleave in the order that each epoch has (headrace/graph/file_order.h).
#pragma once
#include <memory>
#include <vector>

#include "headrace/run/order/order.h"

namespace headrace {

// Its length may differ between epochs.
class OrderByEpoch : public Order {
 public:
  // Elements of this rank, if `even` after evening out ranks.
  virtual uint64_t size_in(uint64_t epoch, bool even) const = 0;
  // Why ranks cannot be even in that epoch.
  virtual Status check(uint64_t epoch) const = 0;
};

// `children` of these totals; `order`: the last input of the verb.
std::unique_ptr<OrderByEpoch> reader_order(std::vector<std::unique_ptr<Order>> children,
                                           std::vector<uint64_t> totals, const Interleave& interleave,
                                           NodePtr order);

}  // namespace headrace
