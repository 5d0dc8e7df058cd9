// The units of work in the executor: items, tickets and their parts.
//
// An Item is the input of a stage: positions of a level, or samples of the previous stage. A Ticket is the
// work on one item, in order; its Parts are pieces that workers take independently (rows of a batch). Guarded
// by the executor's mutex, except for what a running part accesses: its own Part, its own rows of `slots` and
// `rows`.
#pragma once
#include <memory>
#include <vector>

#include "headrace/core/row_list.h"
#include "headrace/core/sample.h"
#include "headrace/formats/source.h"
#include "headrace/run/evaluate/sample_rows.h"
#include "headrace/run/order/level.h"

namespace headrace {

// Numbers that encode the position of a stream, written and read in one fixed order. The state of a run
// contains a cursor.
using Cursor = std::vector<uint64_t>;

// The ticket and stage that an item came from, for traces; unset for items assembled by streams.
struct TicketRef {
  uint64_t ticket = ~uint64_t{0};
  uint8_t stage = 0;
};

struct Item {
  uint64_t first = 0, count = 0;  // positions first, first + step … of a level, or
  uint64_t step = 1;
  uint64_t epoch = 0;            //   in this epoch,
  uint32_t occurrence = 0;       //   wrapped around this often,
  bool valid = true;             //   false if shard(even="pad") added them,
  uint64_t handed_out = 0;       //   with this many outputs handed out before states were merged
  std::vector<Sample> samples;   // samples of the previous stage: one, or the rows of a batch,
  std::vector<RowRange> ranges;  // or all of these instead
  bool is_alone = true;          // the samples share no memory with others
  std::shared_ptr<void> turn;    // for a body that takes its items one by one: the state it continues from
  TicketRef given;

  size_t num_samples() const;
  void append(Item&& other);  // adds the samples of another item
  void part();                // turns ranges into samples
};

struct Part {
  enum class State : uint8_t { io, ready, running, done };
  State state = State::ready;
  size_t first = 0, count = 0;                 // rows of the ticket
  std::vector<Position> at;                    // rows of a level, located when first needed
  std::vector<BlockPtr> blocks;                // one per row, once fetched; empty if nothing needs reading
  std::vector<uint64_t> rows;                  // index of each row in its block
  std::vector<Status> failures;                // of fetching, one per row; empty if there were none
  bool has_passed = false;                     // its rows are in place: there is nothing to run
  std::vector<Part> zipped;                    // rows of a zip: the same for each of its inputs, row by row
  std::vector<std::vector<TextOwner>> owners;  // per field of strings without a slot: owners of the bytes

  void forget_row(size_t i) {
    if (!blocks.empty()) blocks[i] = nullptr;
    for (Part& input : zipped) input.forget_row(i);
  }
  void forget() {
    blocks.clear(), failures.clear();
    for (Part& input : zipped) input.forget();
  }
};

// The rows of a field without a slot, as they are made.
struct LooseRows {
  bool are_texts = false;
  BufferPtr memory;  // of `texts`
  std::span<Text> texts;
  std::vector<Tensor> tensors;  // for other dtypes
  RowListPtr made;              // the complete list, at the end
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
  std::vector<MutView> slots;   // per field of a row: memory of the whole batch, or no data if shapes differ
  std::vector<Tensor> columns;  // owners of `slots`
  std::vector<LooseRows> rows;  // per field: empty where it has a slot
  std::vector<std::vector<Sample>> row_outputs;  // outputs of each row, if rows are not a batch
  const LeafPlan* batch = nullptr;               // the batch that the rows belong to, or null
  Position batch_at;                             // its position
  std::vector<BatchOfMany> batches;              // or these instead, whose rows are read like those of one
  std::vector<Sample> outputs;
  std::shared_ptr<const Rows> rows_made;  // or these instead
  std::vector<uint64_t> ends;  // per row before a failed one: outputs up to its end; empty for a batch
  static constexpr uint64_t kAll = ~uint64_t{0};
  uint64_t emitted = 0;           // outputs handed out; kAll before a resumed ticket has any
  Status error;                   // reported after the outputs
  size_t error_row = ~size_t{0};  // the lowest failed row: the reported error does not depend on timing
  uint64_t busy_ns = 0;           // time that workers spent on it
  bool done = false, dropped = false;
  bool many_batches = false;  // its one part makes several batches

  // Begins the rows of a part. Owners of strings belong to the part until all rows are made.
  void begin_rows(Part& part) { part.owners.assign(rows.size(), {}); }
  TextRows texts_of(Part& part, size_t field, size_t first) {
    return {rows[field].texts.data() + first, first, part.owners[field]};
  }
  // Sets row n of a field without a slot. REQUIRES: rows of a part are set in order.
  void set_row(Part& part, size_t field, size_t n, Tensor row) {
    if (rows[field].are_texts)
      texts_of(part, field, n).set(0, row.buffer, row.view().bytes());
    else
      rows[field].tensors[n] = std::move(row);
  }
  // Drops the rows of a part that were copied to their place; it starts again.
  void take_back(Part& part);
  // All rows of a field, once the parts are done.
  RowListPtr row_list(size_t field, DType dtype);
  // The number of samples in a part that has been run.
  size_t num_samples(const Part& part) const { return many_batches ? num_rows_made() : part.count; }
  size_t num_rows_made() const;
  size_t num_outputs() const { return rows_made ? rows_made->size() : outputs.size(); }
  bool used_up() const { return done && error.ok() && emitted >= num_outputs(); }
  // Releases the memory of a used-up ticket; it stays in the ring until those before it are used up, too.
  void forget();
  // The next output, or up to `most` of them if they are stored as columns.
  void emit(Item& out, uint64_t most);
};
using TicketPtr = std::shared_ptr<Ticket>;

}  // namespace headrace
