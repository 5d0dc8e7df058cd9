// What travels through the executor: items, tickets and their parts.
//
// An Item is what a stage is fed: a position of a level, or samples of the stage before. A Ticket is the work
// on one item, in order; its Parts are pieces that workers take independently (rows of a batch). Guarded by
// the executor's mutex but for what a running part touches: its own Part, its own rows of `slots` and `rows`.
#pragma once
#include <memory>
#include <vector>

#include "headrace/core/row_list.h"
#include "headrace/core/sample.h"
#include "headrace/formats/source.h"
#include "headrace/run/evaluate/sample_rows.h"
#include "headrace/run/order/level.h"

namespace headrace {

// Numbers that say where a stream stands, written and read in one fixed order. The state of a run is one of
// these.
using Cursor = std::vector<uint64_t>;

// Which ticket of which stage an item is of, for traces; those that streams put together are of none.
struct TicketRef {
  uint64_t ticket = ~uint64_t{0};
  uint8_t stage = 0;
};

struct Item {
  uint64_t first = 0, count = 0;  // positions first, first + step … of a level, or
  uint64_t step = 1;
  uint64_t epoch = 0;            //   in this epoch,
  uint32_t occurrence = 0;       //   wrapped around this often
  uint64_t handed_out = 0;       //   whose first outputs were handed out before states were merged
  std::vector<Sample> samples;   // samples of the stage before: one, or the rows of a batch,
  std::vector<RowRange> ranges;  // or all of these instead
  bool is_alone = true;          // no bytes of the samples lie beside those of others
  std::shared_ptr<void> turn;    // of a body that takes its items one by one: what it goes on from
  TicketRef given;

  size_t num_samples() const;
  void append(Item&& other);  // take the samples of another item, too
  void part();                // ranges become samples
};

struct Part {
  enum class State : uint8_t { io, ready, running, done };
  State state = State::ready;
  size_t first = 0, count = 0;                 // rows of the ticket
  std::vector<Position> at;                    // rows of a level, located by whoever needs them first
  std::vector<BlockPtr> blocks;                // one per row, once fetched; empty for what needs no reading
  std::vector<uint64_t> rows;                  // where in its block each row is
  std::vector<Status> failures;                // of fetching, one per row; empty when all went well
  bool has_passed = false;                     // its rows are in place: there is nothing to run
  std::vector<Part> zipped;                    // rows of a zip: for each of its inputs the same, row by row
  std::vector<std::vector<TextOwner>> owners;  // per field of texts without a slot: what its rows lie in

  void forget_row(size_t i) {
    if (!blocks.empty()) blocks[i] = nullptr;
    for (Part& input : zipped) input.forget_row(i);
  }
  void forget() {
    blocks.clear(), failures.clear();
    for (Part& input : zipped) input.forget();
  }
};

// The rows of a field that have no slot, as they are made.
struct LooseRows {
  bool are_texts = false;
  BufferPtr memory;  // of the texts
  std::span<Text> texts;
  std::vector<Tensor> tensors;  // of any others
  RowListPtr made;              // of all of them, at last
};

struct BatchOfMany {
  Position at;
  size_t num_rows = 0;
};

struct Ticket {
  uint64_t serial = 0;
  Item item;
  Cursor before;  // of the stage's feeder, before the item was pulled
  size_t num_rows = 0;
  std::vector<Part> parts;
  size_t parts_left = 0;
  std::vector<MutView> slots;   // per field of a row: the whole batch's memory, or no data when rows differ
  std::vector<Tensor> columns;  // owners of `slots`
  std::vector<LooseRows> rows;  // per field: empty where it has a slot
  std::vector<std::vector<Sample>> row_outputs;  // what each row became, when rows are not a batch
  const LeafPlan* batch = nullptr;               // the batch that the rows make up, or null
  Position batch_at;                             // where it stands
  std::vector<BatchOfMany> batches;              // or these instead, whose rows are read as if of one
  std::vector<Sample> outputs;
  std::shared_ptr<const Rows> rows_made;  // or these instead
  std::vector<uint64_t> ends;  // per row before one that failed: outputs up to its own; empty for a batch
  static constexpr uint64_t kAll = ~uint64_t{0};
  uint64_t emitted = 0;           // outputs handed out; kAll before a resumed ticket has any
  Status error;                   // told after the outputs
  size_t error_row = ~size_t{0};  // the lowest row that failed: which error is told does not depend on timing
  uint64_t busy_ns = 0;           // that workers spent on it
  bool done = false, dropped = false;
  bool many_batches = false;  // come of its one part

  // Rows of a part that begins. What texts lie in is the part's own until all are made.
  void begin_rows(Part& part) { part.owners.assign(rows.size(), {}); }
  TextRows texts_of(Part& part, size_t field, size_t first) {
    return {rows[field].texts.data() + first, first, part.owners[field]};
  }
  // Row n of a field without a slot. REQUIRES: a part's come in order.
  void set_row(Part& part, size_t field, size_t n, Tensor row) {
    if (rows[field].are_texts)
      texts_of(part, field, n).set(0, row.buffer, row.view().bytes());
    else
      rows[field].tensors[n] = std::move(row);
  }
  // Drop the rows of a part that were put in place; it starts again.
  void take_back(Part& part);
  // All rows of a field, once the parts are done.
  RowListPtr row_list(size_t field, DType dtype);
  // That a part held which has been run.
  size_t num_samples(const Part& part) const { return many_batches ? num_rows_made() : part.count; }
  size_t num_rows_made() const;
  size_t num_outputs() const { return rows_made ? rows_made->size() : outputs.size(); }
  bool used_up() const { return done && error.ok() && emitted >= num_outputs(); }
  // What is used up holds no memory; it stands in the ring until those before it are, too.
  void forget();
  // The next output, and up to `most` of them if they lie side by side.
  void emit(Item& out, uint64_t most);
};
using TicketPtr = std::shared_ptr<Ticket>;

}  // namespace headrace
