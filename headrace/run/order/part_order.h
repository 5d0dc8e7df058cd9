// Fixed shards: the order of a rank's part, and the seeds of orders behind it.
#pragma once
#include <memory>

#include "headrace/run/order/order.h"

namespace headrace {

// The elements of `total` that the rank of a fixed shard has.
std::unique_ptr<Order> part_order(std::unique_ptr<Order> child, const Shard& shard, uint64_t total);

// The seed of a shuffle or sample at `node`: behind a part, that of the rank (file_order.h).
uint64_t seed_of_part(uint64_t seed, const Node& node);
// The verb at `node` with that seed.
template <class Verb> Verb of_part(Verb verb, const Node& node) {
  verb.seed = seed_of_part(verb.seed, node);
  return verb;
}

}  // namespace headrace
