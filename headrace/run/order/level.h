// A Level: the random-access part of a pipeline, lowered from its nodes. It is an Order over leaves; a leaf
// is a source, or a batch or window whose rows are again a Level, or several Levels zipped; above each leaf
// stand the programs that its elements go through.
//
//   read.shuffle().map(f).batch(32).map(g)   is   Level { order: leaf 0 = Batch(32) { rows: Level { order:
//   shuffle(leaf 0 = read), programs [f] } }, programs [g] }
//
// Shard stands at the top of its level, wherever the user wrote it. Immutable after lowering.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "headrace/graph/node.h"
#include "headrace/run/order/order.h"

namespace headrace {

class ElementCache;
struct Level;

struct LeafPlan {
  SourcePtr source;             // a read, or
  uint32_t read = 0;            //   its ordinal
  uint32_t ordinal = 0;         // of the leaf among all of the pipeline's: where its resident block is kept
  std::shared_ptr<Level> rows;  // a batch or window of these:
  Batch batch;                  //   so many,
  uint64_t shift = 1;           //   from this multiple of the position,
  uint64_t stride = 1;          //   and so far apart; or
  std::vector<std::unique_ptr<Level>> zipped;  // an element of each of these, side by side;
  uint32_t ids = 0;                            //   named by that of this one
  std::string made_at;  // the user's line of the read or batch: " (read at train.py:12)", or nothing
  Schema incoming;      // what reaches the first program
  std::vector<Program> programs;
  struct Replace {
    size_t covered = 0;  // programs before this on_error("replace")
    uint32_t mark = 0;
    const Order* order = nullptr;  // what stands below it
    uint64_t total = 0;            // positions of that
  };
  std::vector<Replace> replaces;  // innermost first
  struct Cached {
    size_t covered = 0;  // programs before this cache
    uint64_t leaf = 0;   // this leaf among those below it
    std::shared_ptr<ElementCache> elements;
  };
  std::vector<Cached> caches;  // innermost first
  // Where the only cache is the run's own (extra_cache.h): what makes an element that it does not keep. They
  // are `programs`, or as many but one: that before the cache and that after it as one.
  std::vector<Program> straight;

  const Schema& schema() const { return programs.empty() ? incoming : programs.back().schema; }
  bool resident() const;                                 // nothing is read for its elements
  bool is_read() const { return !rows && !resident(); }  // for each, and it is no batch
  bool is_plain() const {                                // they are rows of a source in memory
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
  Schema schema;                         // of its elements
  bool reads = false, all_read = false;  // for some of its elements, other than batches; for all
  uint64_t kept_blocks = 0;  // by who reads, if memory has room for them: where an order jumps between them

  // Where a resumed epoch begins: `base` global positions of it are consumed already.
  struct Start {
    uint64_t epoch = 0, base = 0;
    uint64_t shift = 0;  // of a batch's rows: the batches of this epoch that were handed out before
    uint64_t base_in(uint64_t e) const { return e == epoch ? base : 0; }
    uint64_t shift_in(uint64_t e) const { return e == epoch ? shift : 0; }
  };
  bool is_plain() const;
  // Elements of an epoch on this rank.
  uint64_t size(uint64_t epoch, const Start& start) const;
  // Positions first, first + step … of this rank in `epoch`.
  void locate(uint64_t first, uint64_t epoch, uint32_t occurrence, const Start& start,
              std::span<Position> out, uint64_t step = 1) const;
  // The global position behind this rank's position.
  uint64_t global(uint64_t position, uint64_t epoch, const Start& start, bool* wrapped) const;
};

inline const Level::Start kWholeEpochs{~uint64_t{0}, 0, 0};  // nothing of any is consumed

}  // namespace headrace
