#include "headrace/run/order/part_order.h"

#include <algorithm>

#include "headrace/graph/file_order.h"
#include "headrace/graph/walk_nodes.h"

namespace headrace {
namespace {

class PartOrder final : public Order {
 public:
  // Of `total` elements each rank has `total / world`; the rest are of the first ranks, one each, or of none.
  PartOrder(std::unique_ptr<Order> child, const Shard& shard, uint64_t total)
      : child_(std::move(child)), marks_(shard.even == Even::pad) {
    const uint64_t each = total / shard.world, rest = shard.even == Even::drop ? 0 : total % shard.world;
    own_ = each + (shard.rank < rest ? 1 : 0);
    first_ = shard.contiguous ? each * shard.rank + std::min<uint64_t>(shard.rank, rest) : shard.rank;
    step_ = shard.contiguous ? 1 : shard.world;
    again_ = own_ < shard_size(shard, total) ? (shard.rank - rest) % total : 0;
  }
  void locate(std::span<Position> positions) const override {
    for (Position& p : positions) {
      if (p.index < own_) {
        p.index = first_ + p.index * step_;
      } else {
        p.index = again_, ++p.occurrence;
        if (marks_) p.valid = false;
      }
    }
    child_->locate(positions);
  }

 private:
  std::unique_ptr<Order> child_;
  uint64_t own_ = 0;  // elements that no other rank has
  uint64_t first_ = 0, step_ = 1;
  uint64_t again_ = 0;  // the one behind them, which another rank has, too
  bool marks_;
};

}  // namespace

std::unique_ptr<Order> part_order(std::unique_ptr<Order> child, const Shard& shard, uint64_t total) {
  return std::make_unique<PartOrder>(std::move(child), shard, total);
}

uint64_t seed_of_part(uint64_t seed, const Node& node) {
  return is_of_one_rank(node) ? seed_of_rank(seed, find_shard(node)->rank) : seed;
}

}  // namespace headrace
