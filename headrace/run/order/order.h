// Order is arithmetic: which element of which leaf is at a position, after shuffle, shard, repeat, take, skip
// and concatenate. No data moves, and memory does not grow with the number of samples (only with blocks).
// Immutable; all methods may be called from several threads.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "headrace/core/random/permutation.h"
#include "headrace/graph/node.h"

namespace headrace {

// A position at an on_error("replace") within the order: set by `locate` on request.
struct Mark {
  uint32_t ordinal = 0;  // of the requested mark
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

// Replaces each index from `first` on by its place in the permutation.
void permute_indices(const Permutation& permute, uint64_t first, std::span<Position> positions);

// The index verbs of one level over its leaves.
class Order {
 public:
  virtual ~Order() = default;
  virtual void locate(std::span<Position> positions) const = 0;

  static std::unique_ptr<Order> leaf(uint32_t ordinal);
  static std::unique_ptr<Order> shuffle(std::unique_ptr<Order> child, const Shuffle& shuffle, uint64_t total);
  // Shuffles lots, and samples within every `blocks` consecutive lots: block_shuffle.cc. Examines all
  // `sources` of the leaves, and stores a number for each lot. Raises `kept_blocks` to the number of blocks
  // that the order jumps between.
  static std::unique_ptr<Order> shuffle_blocks(std::unique_ptr<Order> child, const Shuffle& shuffle,
                                               uint64_t total, const std::vector<SourcePtr>& sources,
                                               uint64_t& kept_blocks);
  static std::unique_ptr<Order> repeat(std::unique_ptr<Order> child, uint64_t times, uint64_t child_total);
  static std::unique_ptr<Order> skip(std::unique_ptr<Order> child, uint64_t count);
  // Only fills in Position::mark.
  static std::unique_ptr<Order> mark(std::unique_ptr<Order> child, uint32_t ordinal);
  static std::unique_ptr<Order> interleave(std::vector<std::unique_ptr<Order>> children,
                                           std::vector<uint64_t> totals, uint64_t cycle, uint64_t block);
  static std::unique_ptr<Order> concatenate(std::vector<std::unique_ptr<Order>> children,
                                            std::vector<uint64_t> totals);
  // With MixStop::cycle, a dataset that begins again is in the next epoch, according to `totals`.
  static std::unique_ptr<Order> mix(std::vector<std::unique_ptr<Order>> children,
                                    std::vector<uint64_t> totals, const Mix& mix);
  static std::unique_ptr<Order> choose(std::vector<std::unique_ptr<Order>> children,
                                       std::vector<uint64_t> totals, const Choose& choose);
  static std::unique_ptr<Order> sample(std::unique_ptr<Order> child, const Draw& draw);
  // The element at a position is that at `indices`[position] of the child: sort_by, select. `occurrences`: of
  // indices that come more than once; may be null.
  static std::unique_ptr<Order> chosen(std::unique_ptr<Order> child,
                                       std::shared_ptr<const std::vector<uint64_t>> indices,
                                       std::shared_ptr<const std::vector<uint32_t>> occurrences);
};

}  // namespace headrace
