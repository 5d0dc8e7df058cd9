#include "headrace/graph/verbs/take_while.h"

#include "headrace/graph/details.h"
#include "headrace/graph/node.h"
#include "headrace/graph/verbs/inference.h"

namespace headrace {

Status TakeWhile::infer(Node& node) const { return infer_chosen(node, program); }

std::string TakeWhile::details() const { return steps_text(program); }

}  // namespace headrace
