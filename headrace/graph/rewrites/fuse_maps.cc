#include "headrace/graph/rewrites/rewrites.h"

namespace headrace {

// map(g, map(f, x)) -> map(g after f, x). Steps keep their ordinals, so random draws do not change; steps
// that no output needs are removed.
NodePtr fuse_maps(const NodePtr& node) {
  const Map* second = node->as<Map>();
  if (!second) return node;
  const NodePtr& inner = node->input();
  const Map* first = inner->as<Map>();
  if (!first) return node;
  auto made = make_node(Map{compose(first->program, second->program)}, inner->inputs, node->made_at);
  return made.ok() ? *made : node;
}

}  // namespace headrace
