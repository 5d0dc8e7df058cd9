#include "headrace/graph/rewrites/rewrites.h"
#include "headrace/graph/walk_nodes.h"

namespace headrace {

// verb(map(x)) -> map(verb(x)) for verbs that only move indices. Random keys depend on samples, not on
// positions, so draws do not change.
NodePtr sink_order_verbs(const NodePtr& node) {
  if (!moves_indices(*node)) return node;
  const NodePtr& map = node->input();
  if (!map->as<Map>()) return node;
  const NodePtr made = with_data(*map, with_data(*node, map->input()));
  return made ? made : node;
}

}  // namespace headrace
