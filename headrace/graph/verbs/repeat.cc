#include "headrace/graph/verbs/repeat.h"

#include "headrace/graph/node.h"
#include "headrace/graph/verbs/inference.h"

namespace headrace {

Status Repeat::infer(Node& node) const {
  inherit(node);
  if (node.total) node.total = multiply_sizes(*node.total, times == 0 ? kInfinite : times);
  return {};
}

std::string Repeat::details() const { return times ? std::to_string(times) : "forever"; }

}  // namespace headrace
