#include "headrace/graph/verbs/shard.h"

#include <algorithm>

#include "headrace/graph/node.h"
#include "headrace/graph/verbs/inference.h"

namespace headrace {
namespace {

// What the verb named last has to do with it: "filter", "repeat".
std::string ended_by(const Node& node) {
  const Node* last = &node;
  while (!last->inputs.empty() && !(last->input()->indexed && last->input()->total != kInfinite))
    last = last->input().get();
  return std::string(kind_name(last->kind));
}

// A part is fixed by positions, so these must be the same in every epoch.
Status check_before_fixed(const Node& input) {
  if (!input.indexed || !input.total || *input.total == kInfinite)
    return invalid({.expected = "random access and a known length before shard(fixed=True)",
                    .got = "'" + ended_by(input) + "' before it",
                    .fix = "put shard(fixed=True) before that verb, or leave out fixed=True"})
        .in_op("shard");
  if (order_varies(input))
    return invalid({.expected = "the same order in every epoch before shard(fixed=True)",
                    .got = "a shuffle or sample, which changes it every epoch",
                    .fix = "put the shuffle after shard(fixed=True), where it permutes this rank's part, or "
                           "use shuffle(reshuffle_each_epoch=False)"})
        .in_op("shard");
  return {};
}

}  // namespace

uint64_t shard_size(const Shard& shard, uint64_t total, uint64_t base) {
  if (total == kInfinite) return kInfinite;
  const uint64_t rest = total - std::min(total, base);
  if (shard.whole) return own_size(shard, rest, shard.rank);
  return shard.even == Even::drop ? rest / shard.world : (rest + shard.world - 1) / shard.world;
}

uint64_t own_size(const Shard& shard, uint64_t total, uint32_t rank) {
  return total / shard.world + (rank < total % shard.world ? 1 : 0);
}

Status Shard::infer(Node& node) const {
  inherit(node);
  if (world < 1 || rank >= world)
    return invalid({.expected = "0 <= rank < world",
                    .got = "rank " + std::to_string(rank) + " of " + std::to_string(world)})
        .in_op("shard");
  if (replicate == 0) return invalid({.expected = "replicate of at least 1", .got = "0"}).in_op("shard");
  if (node.sharded) return invalid("the dataset is already sharded").in_op("shard");
  if (contiguous && !fixed)
    return invalid({.expected = "fixed=True beside contiguous=True",
                    .got = "fixed=False",
                    .fix = "only a part that stays the same can be one run of elements"})
        .in_op("shard");
  node.sharded = true;
  if (!fixed) {
    node.shard = *this;
    return {};
  }
  HEADRACE_TRY(check_before_fixed(*node.input()));
  node.total = shard_size(*this, *node.total);
  return {};
}

std::string Shard::details() const {
  return "rank " + std::to_string(rank) + " of " + std::to_string(world) +
         (ranks ? " of the environment" : "") +
         (replicate > 1 ? ", replicate=" + std::to_string(replicate) : "") +
         ", even=" + std::string(EnumNames<Even>::names[static_cast<size_t>(even)]) +
         (steps ? ", steps=" + std::to_string(*steps) : "") + (fixed ? ", fixed=True" : "") +
         (contiguous ? ", contiguous=True" : "") + (whole ? ", whole files" : "");
}

}  // namespace headrace
