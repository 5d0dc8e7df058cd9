#include "headrace/graph/verbs/reorder.h"

#include "headrace/graph/node.h"
#include "headrace/graph/verbs/inference.h"

namespace headrace {

Status Reorder::infer(Node& node) const {
  inherit(node);
  HEADRACE_TRY(fixed_total(*node.input(), "reorder", "positions").status());
  node.total = order->size();
  return {};
}

std::string Reorder::details() const { return std::to_string(order->size()) + " positions an epoch"; }

}  // namespace headrace
