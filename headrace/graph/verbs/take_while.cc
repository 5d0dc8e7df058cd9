#include "headrace/graph/verbs/take_while.h"

#include "headrace/graph/details.h"
#include "headrace/graph/node.h"
#include "headrace/graph/verbs/inference.h"

namespace headrace {

Status TakeWhile::infer(Node& node) const {
  inherit(node);
  HEADRACE_TRY(check_predicate(node, program));
  end_random_access(node, std::nullopt);
  return {};
}

std::string TakeWhile::details() const { return steps_text(program); }

}  // namespace headrace
