#include "headrace/graph/moving_parts.h"

#include "headrace/graph/file_order.h"
#include "headrace/graph/verbs/inference.h"
#include "headrace/graph/walk_nodes.h"

namespace headrace {
namespace {

// Whether the shuffles and samples from `node` down move the elements of `cache` among positions. What the
// cache keeps joined stays as in epoch 0.
bool moves(const Node& node, const Node& cache, bool kept = false) {
  if (reorders_each_epoch(node)) return true;
  kept = kept || &node == &cache;
  if (kept && (gathers(node) || node.as<Zip>())) return false;
  const auto is_cache = [&](const Node& one) { return &one == &cache; };
  for (const NodePtr& input : node.inputs)  // branches without the cache do not move what it keeps
    if ((kept || find_node(*input, is_cache)) && moves(*input, cache, kept)) return true;
  return false;
}

// The same where it is files that a rank gets others of in each epoch.
template <class F> std::vector<const Node*> caches_of_moving_files(const Node& files, const F& several) {
  std::vector<const Node*> out;
  const Node& order = *files.inputs.back();
  const Shard& shard = *find_shard(order);
  if (!shard.deals() || !several(shard) || !order_varies(order)) return out;
  each_node(files, [&](const Node& node) {
    if (const auto* cache = node.as<Cache>(); cache && cache->path.empty()) out.push_back(&node);
  });
  return out;
}

}  // namespace

std::vector<const Node*> caches_of_moving_parts(const Node& root, bool of_any_world) {
  std::vector<const Node*> out;
  const auto several = [&](const Shard& shard) {
    return shard.world > 1 || (of_any_world && shard.ranks.has_value());
  };
  if (const Node* files = interleave_of_dealt_files(root)) return caches_of_moving_files(*files, several);
  // The order that the shard deals ends at the topmost node that it covers.
  const Node* dealt =
      find_node(root, [&](const Node& node) { return node.indexed && node.shard && several(*node.shard); });
  if (!dealt) return out;
  each_node(*dealt, [&](const Node& node) {
    const auto* cache = node.as<Cache>();
    if (cache && cache->path.empty() && moves(*dealt, node)) out.push_back(&node);
  });
  return out;
}

}  // namespace headrace
