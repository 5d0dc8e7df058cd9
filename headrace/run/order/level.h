// A Level: the random-access part of a pipeline, lowered from its nodes. It is an Order over leaves; a leaf
// is a source, or a batch or window whose rows are again a Level, or several Levels zipped; each leaf has the
// programs that its elements go through.
//
//   read.shuffle().map(f).batch(32).map(g)   is   Level { order: leaf 0 = Batch(32) { rows: Level { order:
//   shuffle(leaf 0 = read), programs [f] } }, programs [g] }
//
// Shard is applied at the top of its level, wherever the user wrote it, except a fixed one, which is part of
// the order. Immutable after lowering.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "headrace/graph/node.h"
#include "headrace/run/order/order.h"

namespace headrace {

class ElementCache;
class OrderByEpoch;
struct Level;

struct LeafPlan {
  SourcePtr source;                            // a read, or
  uint32_t read = 0;                           //   its ordinal
  uint32_t ordinal = 0;                        // of the leaf in the pipeline: the index of its resident block
  std::shared_ptr<Level> rows;                 // a batch or window of these:
  Batch batch;                                 //   `batch.size` rows,
  uint64_t shift = 1;                          //   beginning at position * shift,
  uint64_t stride = 1;                         //   every stride-th row; or
  std::vector<std::unique_ptr<Level>> zipped;  // an element of each of these, joined;
  uint32_t ids = 0;                            //   with the id of this one
  std::string made_at;  // the user's line of the read or batch: "read at train.py:12", or empty
  Schema incoming;      // of the input of the first program
  std::vector<Program> programs;
  struct Replace {
    size_t covered = 0;  // programs before this on_error("replace")
    uint32_t mark = 0;
    const Order* order = nullptr;  // the order below it
    uint64_t total = 0;            // positions of that order
  };
  std::vector<Replace> replaces;  // innermost first
  struct Cached {
    size_t covered = 0;  // programs before this cache
    uint64_t leaf = 0;   // number of this leaf among those below the cache
    std::shared_ptr<ElementCache> elements;
  };
  std::vector<Cached> caches;  // innermost first
  // If the only cache was added by the run (extra_cache.h): the programs for elements that are not cached.
  // Either `programs`, or with the one before the cache and the one after it joined.
  std::vector<Program> straight;

  const Schema& schema() const { return programs.empty() ? incoming : programs.back().schema; }
  bool resident() const;                                 // its elements need no reads
  bool is_read() const { return !rows && !resident(); }  // each element needs a read, and is not a batch
  bool is_plain() const {                                // elements are rows of a source in memory
    return source && resident() && programs.empty() && caches.empty();
  }
  // Rows of the batch or window whose first one is `first`.
  uint64_t rows_from(uint64_t first, uint64_t total) const;
};

struct Level {
  std::unique_ptr<Order> order;
  std::vector<LeafPlan> leaves;
  uint64_t total = 0;  // positions of an epoch over all ranks
  std::optional<Shard> shard;
  const OrderByEpoch* by_epoch = nullptr;  // `order`, if its length differs between epochs
  bool even = true;                        //   then: as many elements on all ranks
  bool marks = false;                      // the order marks elements that even out ranks
  Schema schema;                           // of its elements
  bool reads = false, all_read = false;    // some elements, other than batches, need reads; all do
  uint64_t kept_blocks =
      0;  // blocks the reader should keep, if there is memory: where an order jumps between them

  // Where a resumed epoch begins: `base` global positions of it are consumed already.
  struct Start {
    uint64_t epoch = 0, base = 0;
    uint64_t shift = 0;  // for rows of batches: the batches of this epoch that were handed out before
    uint64_t base_in(uint64_t e) const { return e == epoch ? base : 0; }
    uint64_t shift_in(uint64_t e) const { return e == epoch ? shift : 0; }
  };
  bool is_plain() const;
  // Elements of an epoch on this rank.
  uint64_t size(uint64_t epoch, const Start& start) const;
  // The most elements of an epoch, where that is known before it; else kInfinite.
  uint64_t most() const;
  Status check(uint64_t epoch) const;
  // Positions first, first + step … of this rank in `epoch`.
  void locate(uint64_t first, uint64_t epoch, uint32_t occurrence, const Start& start,
              std::span<Position> out, uint64_t step = 1) const;
  // The global position after this rank's position.
  uint64_t global(uint64_t position, uint64_t epoch, const Start& start, bool* wrapped) const;
};

inline const Level::Start kWholeEpochs{~uint64_t{0}, 0, 0};  // no epoch is partly consumed

}  // namespace headrace
