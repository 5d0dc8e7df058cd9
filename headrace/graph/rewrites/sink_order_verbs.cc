#include "headrace/graph/rewrites/rewrites.h"

namespace headrace {

// verb(map(x)) -> map(verb(x)) for verbs that only move indices. Keys name samples and not positions, so no
// draw changes.
NodePtr sink_order_verbs(const NodePtr& node) {
  if (!moves_indices(*node)) return node;
  const NodePtr& map = node->input();
  if (!map->as<Map>()) return node;
  std::vector<NodePtr> inputs = node->inputs;  // the data, and numbers beside it
  inputs[0] = map->input();
  const NodePtr below = with_inputs(*node, std::move(inputs));
  const NodePtr made = below ? with_inputs(*map, {below}) : nullptr;
  return made ? made : node;
}

}  // namespace headrace
