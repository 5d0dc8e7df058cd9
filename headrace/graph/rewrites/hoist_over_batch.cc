#include <algorithm>

#include "headrace/graph/passes/batched.h"
#include "headrace/graph/rewrites/rewrites.h"

namespace headrace {
namespace {

// Whether the node computes its samples. After verbs that only pass samples on, a map is a stage of its own
// and part of the state: there it stays.
bool makes_samples(const Node& node) {
  if (node.indexed || node.as<Map>() || node.as<Filter>() || node.as<Unbatch>() || gathers(node)) return true;
  const auto* on_error = node.as<OnError>();
  return on_error && (on_error->policy == OnErrorPolicy::skip || makes_samples(*node.input()));
}

}  // namespace

// batch(map(f, x)) -> map(f, batch(x)) when every operator of f is element-wise and every field has a fixed
// shape.
NodePtr hoist_over_batch(const NodePtr& node) {
  const Batch* batch = node->as<Batch>();
  if (!batch || batch->ragged || batch->padding) return node;
  const NodePtr& inner = node->input();
  const Map* map = inner->as<Map>();
  if (!map || !makes_samples(*inner->input())) return node;
  // Only what the program reads is batched: choose those fields first.
  auto below = make_node(node->kind, {inner->input()}, node->made_at);
  if (!below.ok()) return node;
  for (const TensorSpec& spec : inner->input()->schema.specs)
    if (!spec.is_static()) return node;
  const auto over = batched(map->program, (*below)->schema);
  if (!over) return node;
  auto made = make_node(Map{*over}, {*below}, inner->made_at);
  return made.ok() ? *made : node;
}

}  // namespace headrace
