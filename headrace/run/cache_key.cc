#include "headrace/run/cache_key.h"

#include <string>

#include "headrace/core/text.h"
#include "headrace/graph/plan_json.h"

namespace headrace {
namespace {

const Shard* find_shard(const Node& node) {
  if (const auto* shard = node.as<Shard>()) return shard;
  for (const NodePtr& input : node.inputs)
    if (const Shard* found = find_shard(*input)) return found;
  return nullptr;
}

void add_draws(const Node& node, std::string& out) {
  for (const NodePtr& input : node.inputs) add_draws(*input, out);
  if (const Program* program = program_of(node.kind))
    for (const Call& call : program->steps)
      if (call.op->random()) out += " " + std::to_string(call.ordinal);
}

// Batches of a rank's own samples are its own.
const Shard* shard_below_batch(const Node& node) {
  if (gathers(node)) return find_shard(node);
  for (const NodePtr& input : node.inputs)
    if (const Shard* found = shard_below_batch(*input)) return found;
  return nullptr;
}

// What decides an element that is kept: the plan below, the data, and, where it draws, what it draws from.
std::string cache_key(const NodePtr& below, uint64_t seed) {
  constexpr std::string_view kArithmetic = "arithmetic 1";  // another one when an operator makes other bytes
  std::string out = fingerprint(below, 0) + std::string(kArithmetic), draws;
  add_draws(*below, draws);
  if (const Shard* dealt = shard_below_batch(*below))
    out += " rank " + std::to_string(dealt->rank) + " of " + std::to_string(dealt->world) + " " +
           std::to_string(static_cast<int>(dealt->even));
  if (draws.empty()) return hash_text(out);
  const auto add_reads = [&](const Node& node, const auto& self) -> void {
    if (const auto* read = node.as<Read>()) draws += " " + std::to_string(read->ordinal);
    for (const NodePtr& input : node.inputs) self(*input, self);
  };
  add_reads(*below, add_reads);
  return hash_text(out + " seed " + std::to_string(seed) + draws);
}

}  // namespace

NodePtr with_cache_keys(const NodePtr& node, uint64_t seed) {
  std::vector<NodePtr> inputs;
  for (const NodePtr& input : node->inputs) inputs.push_back(with_cache_keys(input, seed));
  auto out = std::make_shared<Node>(*node);
  out->inputs = std::move(inputs);
  if (auto* cache = std::get_if<Cache>(&out->kind)) {
    cache->key = cache_key(node->input(), seed);
    if (!cache->version.empty()) cache->key = hash_text(cache->key + cache->version);
  }
  return out;
}

}  // namespace headrace
