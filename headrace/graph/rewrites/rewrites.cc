#include "headrace/graph/rewrites/rewrites.h"

namespace headrace {
namespace {

constexpr Rewrite kRewrites[] = {
    {"sink_order_verbs",
     "shuffle, shard, repeat, take and skip only move indices: moved below maps, they leave the maps "
     "adjacent",
     sink_order_verbs},
    {"fuse_maps",
     "adjacent maps run as one program: no samples are assembled in between, and unused fields are not "
     "computed",
     fuse_maps},
    {"fuse_decode_crop_resize_flip_normalize",
     "rows resampled by decode_image(match=\"fast\") are normalized directly into their place in the batch",
     fuse_decode_crop_resize_flip_normalize},
    {"hoist_over_batch", "element-wise operators run once for the whole batch", hoist_over_batch},
};

// Bottom up, until a node no longer changes.
NodePtr apply_everywhere(const Rewrite& rewrite, const NodePtr& node, int& times) {
  std::vector<NodePtr> inputs;
  bool changed = false;
  for (const NodePtr& input : node->inputs) {
    inputs.push_back(apply_everywhere(rewrite, input, times));
    changed = changed || inputs.back() != input;
  }
  NodePtr out = changed ? with_inputs(*node, std::move(inputs)) : node;
  if (!out) return node;
  const NodePtr made = rewrite.apply(out);
  if (made == out) return out;
  ++times;
  return apply_everywhere(rewrite, made, times);
}

bool equal_outside(const Node& a, const Node& b) {
  if (a.schema.names != b.schema.names || a.schema.structure != b.schema.structure) return false;
  for (size_t i = 0; i < a.schema.size(); ++i)
    if (a.schema.specs[i].dtype != b.schema.specs[i].dtype) return false;
  return a.size == b.size && a.total == b.total && a.indexed == b.indexed;
}

}  // namespace

std::span<const Rewrite> rewrites() { return kRewrites; }

NodePtr rewrite(NodePtr root, const std::set<std::string>& off, std::vector<Applied>* log) {
  if (off.contains("all")) return root;
  for (const Rewrite& one : kRewrites) {
    if (off.contains(std::string(one.name))) continue;
    int times = 0;
    NodePtr made = apply_everywhere(one, root, times);
    if (times == 0 || !equal_outside(*root, *made)) continue;
    if (log) log->push_back({std::string(one.name), times, root, made});
    root = std::move(made);
  }
  return root;
}

}  // namespace headrace
