#include "headrace/graph/passes/asked_ranks.h"

#include "headrace/graph/walk_nodes.h"

namespace headrace {

bool asks_ranks(const Node& root) {
  return find_node(root, [](const Node& node) { return node.as<Shard>() && node.as<Shard>()->ranks; });
}

Result<NodePtr> with_ranks(const NodePtr& root, const Ranks& ranks) {
  std::vector<NodePtr> inputs;
  for (const NodePtr& input : root->inputs) {
    HEADRACE_ASSIGN(NodePtr made, with_ranks(input, ranks));
    inputs.push_back(std::move(made));
  }
  Kind kind = root->kind;
  bool differs = inputs != root->inputs;
  if (auto* shard = std::get_if<Shard>(&kind); shard && shard->ranks) {
    // One process shares with nobody, so that what is made for many runs on a desk, too.
    const bool alone = ranks.rank == 0 && ranks.world == 1;
    HEADRACE_ASSIGN(const Ranks mine, with_replicas(ranks, alone ? 1 : shard->replicate));
    differs = differs || mine.rank != shard->rank || mine.world != shard->world;
    shard->rank = mine.rank, shard->world = mine.world;
  }
  if (!differs) return root;
  return make_node(std::move(kind), std::move(inputs), root->made_at);
}

}  // namespace headrace
