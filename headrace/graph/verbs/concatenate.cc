#include "headrace/graph/verbs/concatenate.h"

#include "headrace/graph/node.h"
#include "headrace/graph/verbs/inference.h"

namespace headrace {

Status Concatenate::infer(Node& node) const {
  HEADRACE_TRY(unite(node, node.inputs.size()));
  node.total = sum_of_totals(node);
  return {};
}

}  // namespace headrace
