#include "headrace/graph/verbs/shard.h"

#include <algorithm>

#include "headrace/graph/node.h"
#include "headrace/graph/verbs/inference.h"

namespace headrace {

uint64_t shard_size(const Shard& shard, uint64_t total, uint64_t base) {
  if (total == kInfinite) return kInfinite;
  const uint64_t rest = total - std::min(total, base);
  return shard.even == Even::drop ? rest / shard.world : (rest + shard.world - 1) / shard.world;
}

Status Shard::infer(Node& node) const {
  inherit(node);
  if (world < 1 || rank >= world)
    return invalid({.expected = "0 <= rank < world",
                    .got = "rank " + std::to_string(rank) + " of " + std::to_string(world)})
        .in_op("shard");
  if (replicate == 0) return invalid({.expected = "replicate of at least 1", .got = "0"}).in_op("shard");
  if (node.sharded) return invalid("the dataset is already sharded").in_op("shard");
  node.shard = *this;
  node.sharded = true;
  return {};
}

std::string Shard::details() const {
  return "rank " + std::to_string(rank) + " of " + std::to_string(world) +
         (ranks ? " of the environment" : "") +
         (replicate > 1 ? ", replicate=" + std::to_string(replicate) : "") +
         ", even=" + std::string(EnumNames<Even>::names[static_cast<size_t>(even)]) +
         (steps ? ", steps=" + std::to_string(*steps) : "");
}

}  // namespace headrace
