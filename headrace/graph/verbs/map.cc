#include "headrace/graph/verbs/map.h"

#include "headrace/graph/details.h"
#include "headrace/graph/node.h"
#include "headrace/graph/verbs/inference.h"

namespace headrace {

Status Map::infer(Node& node) const {
  inherit(node);
  node.schema = program.schema;
  return {};
}

std::string Map::details(size_t indent) const {
  return joined(step_texts(program), indent + 5, indent + 5);  // after "map  "
}

}  // namespace headrace
