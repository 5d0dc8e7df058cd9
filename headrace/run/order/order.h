// Order is arithmetic: which element of which leaf stands at a position, after shuffle, shard, repeat, take,
// skip and concatenate. No data moves and no memory grows with the dataset, but with its blocks. Immutable;
// all methods may be called from several threads.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "headrace/core/random/permutation.h"
#include "headrace/graph/node.h"

namespace headrace {

// Where a position stands at one on_error("replace") on its way down: set by `locate` when somebody asks.
struct Mark {
  uint32_t ordinal = 0;  // of the mark asked for
  uint64_t index = 0, epoch = 0;
};

// Before `locate`: a position of the level in `index`. After: an element of a leaf.
struct Position {
  uint64_t index = 0;
  uint64_t epoch = 0;
  uint32_t leaf = 0;
  uint32_t occurrence = 0;
  bool valid = true;
  Mark* mark = nullptr;
};

// The indices, from `first` on, each at its place of the permutation.
void permute_indices(const Permutation& permute, uint64_t first, std::span<Position> positions);

// The index verbs of one level over its leaves.
class Order {
 public:
  virtual ~Order() = default;
  virtual void locate(std::span<Position> positions) const = 0;

  static std::unique_ptr<Order> leaf(uint32_t ordinal);
  static std::unique_ptr<Order> shuffle(std::unique_ptr<Order> child, uint64_t seed, uint64_t total);
  // The same of what lies together, and within every `blocks` of them that come one after the other:
  // block_shuffle.cc. Looks at all `sources`, those of the leaves, and holds a number for each lot.
  // `kept_blocks` becomes no less than one jumps between.
  static std::unique_ptr<Order> shuffle_blocks(std::unique_ptr<Order> child, uint64_t seed, uint64_t blocks,
                                               uint64_t total, const std::vector<SourcePtr>& sources,
                                               uint64_t& kept_blocks);
  static std::unique_ptr<Order> repeat(std::unique_ptr<Order> child, uint64_t times, uint64_t child_total);
  static std::unique_ptr<Order> skip(std::unique_ptr<Order> child, uint64_t count);
  // Nothing but a place to stop at: fills in Position::mark.
  static std::unique_ptr<Order> mark(std::unique_ptr<Order> child, uint32_t ordinal);
  static std::unique_ptr<Order> interleave(std::vector<std::unique_ptr<Order>> children,
                                           std::vector<uint64_t> totals, uint64_t cycle, uint64_t block);
  static std::unique_ptr<Order> concatenate(std::vector<std::unique_ptr<Order>> children,
                                            std::vector<uint64_t> totals);
  // With MixStop::cycle, what began again is in another epoch: `totals` say when.
  static std::unique_ptr<Order> mix(std::vector<std::unique_ptr<Order>> children,
                                    std::vector<uint64_t> totals, const Mix& mix);
  static std::unique_ptr<Order> choose(std::vector<std::unique_ptr<Order>> children,
                                       std::vector<uint64_t> totals, const Choose& choose);
  static std::unique_ptr<Order> sample(std::unique_ptr<Order> child, const Draw& draw);
  static std::unique_ptr<Order> sort(std::unique_ptr<Order> child, const SortBy& sort);
};

// The epoch that reaches what stands below a repeat: iteration e, pass p.
inline uint64_t epoch_of_pass(uint64_t epoch, uint64_t times, uint64_t pass) {
  return (times == 0 ? epoch << 32 : epoch * times) + pass;
}

}  // namespace headrace
