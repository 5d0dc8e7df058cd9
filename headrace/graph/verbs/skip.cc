#include "headrace/graph/verbs/skip.h"

#include <algorithm>

#include "headrace/graph/node.h"
#include "headrace/graph/verbs/inference.h"

namespace headrace {

Status Skip::infer(Node& node) const {
  inherit(node);
  if (node.total && *node.total != kInfinite) node.total = *node.total - std::min(*node.total, count);
  return {};
}

std::string Skip::details() const { return std::to_string(count); }

}  // namespace headrace
