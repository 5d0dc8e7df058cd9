#include "headrace/graph/verbs/filter.h"

#include "headrace/graph/details.h"
#include "headrace/graph/node.h"
#include "headrace/graph/verbs/inference.h"

namespace headrace {

Status Filter::infer(Node& node) const { return infer_chosen(node, program); }

std::string Filter::details() const { return steps_text(program); }

}  // namespace headrace
