#include "headrace/graph/verbs/unique.h"

#include "headrace/graph/details.h"
#include "headrace/graph/node.h"
#include "headrace/graph/verbs/inference.h"

namespace headrace {

Status Unique::infer(Node& node) const {
  inherit(node);
  if (program.outputs.empty()) return invalid("the key must have at least one field").in_op("unique");
  end_random_access(node, std::nullopt);
  return {};
}

std::string Unique::details() const { return steps_text(program); }

}  // namespace headrace
