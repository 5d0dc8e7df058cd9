#include "headrace/graph/passes/cache_key.h"

#include <algorithm>
#include <string>
#include <vector>

#include "headrace/core/text/text.h"
#include "headrace/graph/moving_parts.h"
#include "headrace/graph/plan/plan_json.h"
#include "headrace/graph/walk_nodes.h"
#include "headrace/ops/c_function.h"

namespace headrace {
namespace {

// Batches of one rank's samples belong to that rank alone.
const Shard* shard_below_batch(const Node& node) {
  if (gathers(node)) return find_shard(node);
  for (const NodePtr& input : node.inputs)
    if (const Shard* found = shard_below_batch(*input)) return found;
  return nullptr;
}

// What determines a cached element: the plan below, the data, and, if random numbers are drawn, their keys.
std::string cache_key(const NodePtr& below, uint64_t seed) {
  constexpr std::string_view kArithmetic =
      "arithmetic 1";  // to be changed when an operator produces other bytes
  std::string out = fingerprint(below, 0) + std::string(kArithmetic), draws;
  each_call(*below, [&](const Call& call) {
    if (call.op->random()) draws += " " + std::to_string(call.ordinal);
  });
  if (const Shard* dealt = shard_below_batch(*below))
    out += " rank " + std::to_string(dealt->rank) + " of " + std::to_string(dealt->world) + " " +
           std::to_string(static_cast<int>(dealt->even));  // `fixed` is in the fingerprint
  if (draws.empty()) return hash_text(out);
  each_node(*below, [&](const Node& node) {
    if (const auto* read = node.as<Read>()) draws += " " + std::to_string(read->ordinal);
  });
  return hash_text(out + " seed " + std::to_string(seed) + draws);
}

// The versions of the C functions, whose code cannot be compared.
std::string versions_of_c(const Node& below) {
  std::string out;
  each_call(below, [&](const Call& call) {
    if (const CFunction* function = c_function_of(*call.op))
      out += " " + std::to_string(function->version.size()) + ":" + function->version;
  });
  return out;
}

NodePtr with_keys(const NodePtr& node, uint64_t seed, const std::vector<const Node*>& moving) {
  std::vector<NodePtr> inputs;
  for (const NodePtr& input : node->inputs) inputs.push_back(with_keys(input, seed, moving));
  auto out = std::make_shared<Node>(*node);
  out->inputs = std::move(inputs);
  if (auto* cache = std::get_if<Cache>(&out->kind)) {
    cache->key = cache_key(node->input(), seed);
    const std::string version = cache->version.empty() ? versions_of_c(*node->input()) : cache->version;
    if (!version.empty()) cache->key = hash_text(cache->key + version);
    cache->moving = std::ranges::find(moving, node.get()) != moving.end();
  }
  return out;
}

}  // namespace

NodePtr with_cache_keys(const NodePtr& node, uint64_t seed) {
  return with_keys(node, seed, caches_of_moving_parts(*node, false));
}

}  // namespace headrace
