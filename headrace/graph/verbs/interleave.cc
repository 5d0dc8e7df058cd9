#include "headrace/graph/verbs/interleave.h"

#include "headrace/graph/node.h"
#include "headrace/graph/verbs/inference.h"

namespace headrace {

Status Interleave::infer(Node& node) const {
  if (cycle < 1 || block < 1)
    return invalid("cycle and block must be at least 1, got " + std::to_string(cycle) + " and " +
                   std::to_string(block))
        .in_op("interleave");
  HEADRACE_TRY(unite(node, node.inputs.size()));
  node.total = sum_of_totals(node);
  node.indexed = node.indexed && node.total;
  return {};
}

std::string Interleave::details() const {
  return "cycle=" + std::to_string(cycle) + ", block=" + std::to_string(block);
}

}  // namespace headrace
