// Traversal and search over the nodes of a plan.
#pragma once
#include "headrace/graph/node.h"

namespace headrace {

// Inputs before the nodes that use them.
template <class F> void each_node(const Node& node, const F& f) {
  for (const NodePtr& input : node.inputs) each_node(*input, f);
  f(node);
}

template <class F> void each_call(const Node& node, const F& f) {
  each_node(node, [&](const Node& one) {
    if (const Program* program = program_of(one.kind))
      for (const Call& call : program->steps) f(call);
  });
}

// The first node for which is_wanted is true, from the top down; null when there is none.
template <class F> const Node* find_node(const Node& node, const F& is_wanted) {
  if (is_wanted(node)) return &node;
  for (const NodePtr& input : node.inputs)
    if (const Node* found = find_node(*input, is_wanted)) return found;
  return nullptr;
}

inline const Shard* find_shard(const Node& node) {
  const Node* found = find_node(node, [](const Node& one) { return one.as<Shard>() != nullptr; });
  return found ? found->as<Shard>() : nullptr;
}

// The same verb with its first input replaced; other inputs (side inputs, other datasets) stay. Null where
// that is not possible.
inline NodePtr with_data(const Node& node, const NodePtr& data) {
  if (!data) return nullptr;
  std::vector<NodePtr> inputs = node.inputs;
  inputs[0] = data;
  return with_inputs(node, std::move(inputs));
}

}  // namespace headrace
