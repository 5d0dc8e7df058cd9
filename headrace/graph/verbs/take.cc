#include "headrace/graph/verbs/take.h"

#include <algorithm>

#include "headrace/graph/node.h"
#include "headrace/graph/verbs/inference.h"

namespace headrace {

Status Take::infer(Node& node) const {
  inherit(node);
  if (count == 0) node.total = 0;
  if (node.total) node.total = std::min(*node.total, count);
  return {};
}

std::string Take::details() const { return std::to_string(count); }

}  // namespace headrace
