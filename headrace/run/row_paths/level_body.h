// A body that evaluates positions of a Level: rows of a batch, or single elements.
//
// level_batches.cc, level_many_reads.cc: how much goes into a ticket; level_fetch.cc: how rows get their
// bytes; level_body.cc, level_zip.cc, level_cache.cc, level_replace.cc, level_together.cc: how they are
// evaluated.
#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headrace/run/work/body.h"

namespace headrace {

// Of the rows of a part of the level.
std::shared_ptr<const std::vector<SampleName>> names_in(const Level& level, const Part& part);

class LevelBody final : public Body {
 public:
  LevelBody(std::shared_ptr<const Level> level, std::shared_ptr<Fetcher> fetcher);
  Status prepare(Counters& counters);  // opens resident sources; before the first ticket
  void allow_together() override;
  // Elements of an item, if it is not a batch.
  void set_block(uint64_t block) { block_ = block; }
  void settle_items(uint64_t row_ns) override;
  bool may_be_fewer(const Ticket& ticket) const override;
  void take_fewer(uint64_t than) override;
  bool forget_kept() override;
  uint64_t most_rows_of_item() const override { return most_block_; }
  const uint64_t& block() const { return block_; }
  // Large bytes that go through no operator may be in mapped files. Before the first ticket; REQUIRES: the
  // consumer checks them (check_intact()).
  void allow_maps() { maps_ = true; }
  void set_starts(Level::Start outer, Level::Start rows) {
    outer_ = outer, rows_ = rows;
  }  // between runs only

  Result<bool> admit(Ticket& ticket, size_t grain, Pool& pool) const override;
  Status fetch(Ticket& ticket, Part& part, Counters& counters) const override;
  RowStatus run(Ticket& ticket, Part& part, Evaluator& evaluator) const override;
  Status finish(Ticket& ticket, Evaluator& evaluator) const override;
  bool finish_at_once(Ticket& ticket) const override;
  std::optional<SampleRef> sample_of(const Ticket& ticket, const Part& part, size_t i) const override;
  bool takes_positions() const override { return true; }

  // One element, computed in this thread: ds[i], batches of batches. `valid` is false for a batch that
  // shard's Even::pad added. REQUIRES: position below the level's size.
  Result<Sample> element(const Level& level, uint64_t position, uint64_t epoch, uint32_t occurrence,
                         Evaluator& evaluator, bool valid = true) const;

  const Level& level() const { return *level_; }
  const Level::Start& outer_start() const { return outer_; }
  bool makes_batches() const { return makes_batches_; }
  bool is_resident() const;  // its elements are not batches and need no reads

 private:
  // One row of a level: its position, and what was fetched for it.
  struct Row {
    const Level* level;
    uint64_t position, epoch;
    Position at;
    const BlockPtr* fetched = nullptr;
    uint64_t in_block = 0;  // index of the row in the block
    const Status* failure = nullptr;
    const Part* part = nullptr;  // the part in which the inputs of a zip were fetched, or null
    size_t in_part = 0;
  };
  // Positions of the rows of a ticket or batch: row n of `count` is at position first + n * step.
  struct Stretch {
    const Level* level;
    uint64_t first, step, epoch;
    uint32_t occurrence;
    bool valid;
    size_t count;
  };
  using Stretches = std::span<const Stretch>;  // of one level, one after the other
  Stretch stretch_of(const Ticket& ticket) const;
  Stretch rows_of(const LeafPlan& leaf, const Position& at) const;
  void mark(const Level& level, bool valid, std::span<Position> elements) const;
  void locate(Stretches rows, size_t first, std::span<Position> out) const;
  void locate(Stretches rows, Part& part) const;
  bool gather_in_blocks(const Ticket& ticket, const Stretch& rows, const Part& part) const;
  static Row row_of(const Level& level, const Part& part, size_t i, uint64_t position, uint64_t epoch);
  const Level::Start& start_of(const Level& level) const;
  std::shared_ptr<const void> hold(const Level& level, const Part& part) const;
  // The first row position of a batch of `level`.
  uint64_t first_row(const Level& level, const LeafPlan& leaf, const Position& at) const;
  // The name of row `i` of a batch, for messages.
  std::string name_of_row(const Level& level, const LeafPlan& leaf, const Position& at, size_t i) const;
  Result<Sample> batch_of(const Level& level, const LeafPlan& leaf, const Position& at,
                          Evaluator& evaluator) const;
  // The same without the programs, for a batch or window.
  Result<std::vector<Tensor>> gathered(const Level& level, const LeafPlan& leaf, const Position& at,
                                       Evaluator& evaluator) const;
  Status check_fits(const Ticket& ticket, const Pool& pool) const;
  bool admit_batch(Ticket& ticket, Pool& pool) const;
  bool gather(const Level& level, const Part& part, std::span<const MutView> slots) const;
  bool gather_incoming(const Level& level, const Schema& schema, const Part& part,
                       std::span<const MutView> slots) const;
  bool gather_cached(const Level& level, const Part& part, std::span<const MutView> slots) const;
  // The rows to process together. Empty: process them one by one.
  std::optional<Rows> incoming_rows(const Ticket& ticket, const Part& part, Evaluator& evaluator) const;
  // Processes each row by itself after an operator has failed. REQUIRES: no programs before the chain.
  RowStatus follow_each(const Rows& rows, Ticket& ticket, const Part& part, Evaluator& evaluator) const;
  std::optional<RowStatus> run_together(Ticket& ticket, const Part& part, Evaluator& evaluator) const;
  bool gather_zipped(const Level& level, const Part& part, std::span<const MutView> slots) const;
  void allow_many_batches();
  void allow_many_reads();
  void settle_reads(uint64_t row_ns);
  void allow_rows();
  void settle_rows(uint64_t row_ns);
  bool read_rows(Ticket& ticket, Part& part, Counters& counters) const;
  void admit_many(Ticket& ticket) const;
  Status fetch_many(Ticket& ticket, Part& part, Counters& counters) const;
  Result<bool> read_some(std::span<const BatchOfMany> batches, size_t num_rows, Ticket& out,
                         Counters& counters) const;
  void cut(Ticket& one, std::span<const BatchOfMany> batches, Ticket& out) const;
  void note_bytes(const Ticket& ticket, const Part& part) const;
  RowStatus run_batches(Ticket& ticket, Evaluator& evaluator) const;
  RowStatus run_each_batch(Ticket& ticket, std::span<const Position> at, Evaluator& evaluator) const;
  // False, or a failure: not possible this way.
  Result<bool> make_batches(Ticket& ticket, std::span<const Position> at, Evaluator& evaluator) const;
  Result<bool> make_rows(Ticket& ticket, std::span<const Position> at, Evaluator& evaluator) const;
  struct Making;
  Result<bool> make_batch(const LeafPlan& leaf, const Position& at, Evaluator& evaluator, Making& making,
                          Sample& out) const;
  void locate_rows(const LeafPlan& leaf, const Position& at, Part& part) const;
  bool take_columns(const Level& rows, Making& making) const;
  bool take_rows(const Level& rows, Making& making) const;
  Status run_row(const Row& row, Evaluator& evaluator, std::span<const MutView> slots, std::span<Tensor> out,
                 Identity& who) const;
  Status run_cached(const LeafPlan& leaf, const Row& row, Evaluator& evaluator,
                    std::span<const MutView> slots, std::span<Tensor> out, const Identity& who) const;
  Status run_extra(const LeafPlan& leaf, const Row& row, Evaluator& evaluator, std::span<const MutView> slots,
                   std::span<Tensor> out, const Identity& who) const;
  Status run_leaf(const LeafPlan& leaf, const Row& row, Evaluator& evaluator, std::span<const MutView> slots,
                  std::span<Tensor> out, const Identity& who) const;
  Status run_zip(const LeafPlan& leaf, const Row& row, Evaluator& evaluator, std::span<const MutView> slots,
                 std::span<Tensor> out, const Identity& who) const;
  Result<std::vector<Tensor>> zipped_fields(const LeafPlan& leaf, const Row& row, Evaluator& evaluator) const;
  Result<std::vector<Tensor>> source_fields(const LeafPlan& leaf, const Row& row, Evaluator& evaluator) const;
  // The input of the first program of a leaf with a cache.
  Result<std::vector<Tensor>> incoming_fields(const LeafPlan& leaf, const Row& row,
                                              Evaluator& evaluator) const;
  void locate_zipped(const Level& level, Part& part) const;
  Status fetch_zipped(const Level& level, Part& part, Counters& counters) const;
  // A position of an order, tried with only those on_error("replace") of its leaf that are below the one of
  // mark `below`; kTop: with all.
  struct Attempt {
    const Order* order;
    uint64_t index, epoch;
    uint32_t below;
  };
  static constexpr uint32_t kTop = ~uint32_t{0};
  // `leaf` is the one that failed; after a failure, the one of the last attempt.
  Status replace(const Attempt& here, const Row& row, const LeafPlan*& leaf, Evaluator& evaluator,
                 std::span<const MutView> slots, std::span<Tensor> out, Identity& who, Status first) const;
  Status attempt(const Attempt& there, const Row& row, const LeafPlan*& leaf, Evaluator& evaluator,
                 std::span<const MutView> slots, std::span<Tensor> out, Identity& who) const;
  Result<BlockPtr> block_of(const LeafPlan& leaf, const Row& row, Evaluator& evaluator,
                            uint64_t* in_block) const;
  Status fetch_and_pass(Ticket& ticket, Part& part, Stretches rows, Counters& counters) const;
  // Fetches all rows of a part; `seen` as in Fetcher::block().
  Status fetch_part(const Level& level, Part& part, Counters& counters, std::vector<Mapped>* seen) const;
  // Fetches rows [first, end) of a part, all of `leaf`: small ones together, others block by block. Returns
  // only `exhausted`, with the row it stopped at.
  RowStatus fetch_rows(const LeafPlan& leaf, Part& part, size_t first, size_t end, Counters& counters,
                       std::vector<Mapped>* seen) const;
  RowStatus fetch_blocks(const LeafPlan& leaf, Part& part, size_t first, size_t end, Counters& counters,
                         std::vector<Mapped>* seen) const;
  size_t put(Ticket& ticket, Part& part, size_t first, size_t end) const;
  enum class Small : uint8_t { are_put, are_none, was_refused };
  Small put_small(Ticket& ticket, Part& part, Stretches rows, Counters& counters) const;
  Small put_of_blocks(Ticket& ticket, Part& part, size_t first, const Source& source,
                      std::span<const uint64_t> indices, Counters& counters) const;
  Small put_together(Ticket& ticket, Part& part, size_t first, const Source& source,
                     std::span<const uint64_t> indices, std::span<const Extent> extents,
                     Counters& counters) const;
  bool pass(Ticket& ticket, Part& part, size_t i, std::vector<Tensor>& fields) const;
  bool pass_all(Ticket& ticket, Part& part, bool may_put) const;
  void allow_elements_together();
  bool may_stay_mapped(const Ticket& ticket) const;
  bool may_map(const Ticket& ticket, const Part& part) const;

  std::shared_ptr<const Level> level_;
  Level::Start outer_, rows_;
  std::shared_ptr<Fetcher> fetcher_;
  std::vector<BlockPtr> resident_;                 // by ordinal of the leaf; null if it is read
  std::unique_ptr<const Together> together_;       // for elements
  uint64_t block_ = 1;                             // elements of an item
  uint64_t most_block_ = 0;                        // maximum of block_ if it changes; 0: it does not
  uint64_t most_reads_ = 0;                        // the same for batches whose rows are read
  mutable std::atomic<uint64_t> row_bytes_ = 0;    // bytes of such a row: the largest mean of a part
  std::unique_ptr<const LeafPlan> as_batch_;       // for elements that are read like rows of a batch, or null
  uint64_t least_block_ = 1;                       // minimum number of these
  mutable std::atomic<bool> was_refused_ = false;  // such a read failed since block_ was last changed
  bool makes_batches_ = false, maps_ = false;
  bool many_batches_ = false, many_reads_ = false;  // several batches per ticket
};

}  // namespace headrace
