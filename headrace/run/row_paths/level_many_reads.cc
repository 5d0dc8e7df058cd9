// Small batches of rows that are read: several in a ticket, read as one and then split. A ticket costs some
// microseconds regardless of its content, as much as a hundred records of 100 bytes. Also single elements
// before an on_error("skip"), filters and maps of numbers: they are read like rows of a batch and processed
// as columns (run/evaluate/sample_rows.h).
#include <algorithm>
#include <numeric>

#include "headrace/core/saturate.h"
#include "headrace/run/row_paths/level_body.h"

namespace headrace {
namespace {

constexpr uint64_t kTicketNs = 500'000;  // target work of a ticket, so that readers share longer work
constexpr uint64_t kMostInTicket = 64, kMostRowsRead = 16384;  // batches and rows of a ticket
constexpr uint64_t kRowsAtOnce = 1024;                         // their bookkeeping stays in the CPU caches
constexpr uint64_t kBytesAtOnce = 64 << 10;  // of columns: keeping one batch keeps its neighbors' memory
constexpr size_t kTicketShare = 64;
constexpr size_t kRowShare = 4096;  // 1/n of the budget: of larger rows too few would be together
constexpr size_t kBeginsAt = 64;    // alignment of pool memory, and of each batch

// No row goes through a program or a cache, and no row is replaced by another.
bool only_pass(const Level& rows) {
  return rows.all_read && std::ranges::all_of(rows.leaves, [](const LeafPlan& leaf) {
           return leaf.source && leaf.programs.empty() && leaf.caches.empty() && leaf.replaces.empty();
         });
}

class SameOrder final : public Order {
 public:
  explicit SameOrder(const Order& order) : order_(order) {}
  void locate(std::span<Position> positions) const override { order_.locate(positions); }

 private:
  const Order& order_;
};

// The level without its maps, which must not outlive it. Null if elements are not just read.
std::shared_ptr<const Level> as_read(const std::shared_ptr<const Level>& level) {
  if (only_pass(*level)) return level;
  const LeafPlan& leaf = level->leaves[0];
  if (level->leaves.size() != 1 || !level->all_read || !leaf.source || !leaf.caches.empty() ||
      !leaf.replaces.empty())
    return nullptr;
  auto out = std::make_shared<Level>();
  out->order = std::make_unique<SameOrder>(*level->order);
  LeafPlan& read = out->leaves.emplace_back();
  read.source = leaf.source, read.read = leaf.read, read.ordinal = leaf.ordinal;
  read.incoming = leaf.incoming, read.made_at = leaf.made_at;
  out->total = level->total, out->shard = level->shard, out->marks = level->marks,
  out->schema = leaf.incoming;
  out->reads = out->all_read = true;
  return out;
}

// A column can be shared by several batches, each with its part; other fields must be lists of rows.
bool can_be_cut(const LeafPlan& leaf) {
  const Schema& schema = leaf.rows->schema;
  for (size_t f = 0; f < schema.size(); ++f)
    if (!has_slots(leaf.batch, schema, f) && !leaf.batch.ragged && !is_text(schema.specs[f].dtype))
      return false;
  return true;
}

// Bytes of a row in columns.
uint64_t column_bytes(const LeafPlan& leaf) {
  const Schema& schema = leaf.rows->schema;
  uint64_t bytes = 0;
  for (size_t f = 0; f < schema.size(); ++f)
    if (has_slots(leaf.batch, schema, f)) bytes = saturating_add(bytes, schema.specs[f].size_bytes());
  return bytes;
}

// Whether a batch that follows `rows` rows in the same memory is aligned.
bool ends_aligned(const LeafPlan& leaf, size_t rows) {
  const Schema& schema = leaf.rows->schema;
  for (size_t f = 0; f < schema.size(); ++f)
    if (has_slots(leaf.batch, schema, f) && schema.specs[f].size_bytes() * rows % kBeginsAt != 0)
      return false;
  return true;
}

}  // namespace

void LevelBody::allow_many_reads() {
  if (many_batches_ || !chain.empty() || level_->leaves.size() != 1 || most_together < kTogether) return;
  const LeafPlan& leaf = level_->leaves[0];
  if (!leaf.rows || !leaf.programs.empty() || !leaf.caches.empty() || !leaf.replaces.empty() ||
      !only_pass(*leaf.rows) || !can_be_cut(leaf))
    return;
  most_reads_ = std::min(kMostInTicket, kMostRowsRead / leaf.batch.size);
  many_reads_ = most_reads_ > 1;
}

void LevelBody::settle_reads(uint64_t row_ns) {
  const LeafPlan& leaf = level_->leaves[0];
  constexpr uint64_t kBookkeeping = sizeof(Position) + sizeof(Extent) + sizeof(Text);  // of a row
  const uint64_t row_bytes = row_bytes_.load(std::memory_order_relaxed) + kBookkeeping;
  const uint64_t by_time = kTicketNs / saturating_mul(row_ns, leaf.batch.size),
                 by_memory = fetcher_->budget() / kTicketShare / saturating_mul(row_bytes, leaf.batch.size);
  const uint64_t want =
      std::clamp<uint64_t>(std::min(by_time, by_memory), 1, std::max<uint64_t>(1, most_reads_));
  block_ = want > block_ ? std::min(want, 2 * block_) : std::max<uint64_t>(1, (block_ + want) / 2);
}

// Elements that were to be read like rows of a batch may each need their own block when read one by one.
bool LevelBody::may_be_fewer(const Ticket& ticket) const {
  return !ticket.batches.empty() || (as_batch_ && ticket.parts.size() == 1 && ticket.item.count > 1);
}

void LevelBody::take_fewer(uint64_t than) {
  if (as_batch_) block_ = std::max<uint64_t>(1, than / 2);
  if (!many_reads_) return;
  most_reads_ = std::min(most_reads_, than / 2);
  block_ = std::max<uint64_t>(1, most_reads_);
}

void LevelBody::admit_many(Ticket& ticket) const {
  const Item& item = ticket.item;
  std::vector<Position> at(item.count);
  level_->locate(item.first, item.epoch, item.occurrence, outer_, at, item.step);
  mark(*level_, item.valid, at);
  const LeafPlan& leaf = level_->leaves[0];
  ticket.num_rows = 0;
  for (const Position& batch : at) {
    ticket.batches.push_back({batch, rows_of(leaf, batch).count});
    ticket.num_rows += ticket.batches.back().num_rows;
  }
  ticket.parts.push_back({.state = Part::State::io, .count = ticket.num_rows});
}

// Not marked as passed if a row cannot be passed: run() then makes each batch by itself.
Status LevelBody::fetch_many(Ticket& ticket, Part& part, Counters& counters) const {
  const LeafPlan& leaf = level_->leaves[0];
  const uint64_t most_rows = std::min(kRowsAtOnce, kBytesAtOnce / std::max<uint64_t>(1, column_bytes(leaf)));
  const std::span<const BatchOfMany> all = ticket.batches;
  for (size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    size_t rows = 0;
    do rows += all[end++].num_rows;
    while (end < all.size() && rows + all[end].num_rows <= most_rows && ends_aligned(leaf, rows));
    HEADRACE_ASSIGN(const bool passed, read_some(all.subspan(begin, end - begin), rows, ticket, counters));
    if (passed) continue;
    ticket.outputs.clear(), ticket.ends.clear();
    return {};
  }
  part.has_passed = true;
  return {};
}

// Reads them as one batch, which is then split. False if a row cannot be passed.
Result<bool> LevelBody::read_some(std::span<const BatchOfMany> batches, size_t num_rows, Ticket& out,
                                  Counters& counters) const {
  Ticket one;
  one.batch = &level_->leaves[0], one.num_rows = num_rows;
  if (!admit_batch(one, fetcher_->pool()))
    return over_budget(num_rows * column_bytes(*one.batch), fetcher_->pool(), "batches");
  Part& part = one.parts.emplace_back();
  part.count = num_rows;
  std::vector<Stretch> rows;
  rows.reserve(batches.size());
  for (const BatchOfMany& batch : batches) rows.push_back(rows_of(*one.batch, batch.at));
  HEADRACE_TRY(fetch_and_pass(one, part, rows, counters));
  if (part.has_passed) cut(one, batches, out);
  return part.has_passed;
}

void LevelBody::cut(Ticket& one, std::span<const BatchOfMany> batches, Ticket& out) const {
  note_bytes(one, one.parts[0]);
  const LeafPlan& leaf = *one.batch;
  const Schema& schema = leaf.rows->schema;
  size_t first = 0;
  for (const BatchOfMany& batch : batches) {
    const Identity who = identity_of(leaf, batch.at);
    Sample& made = out.outputs.emplace_back(Sample{who.id, who.shown, {}, nullptr});
    for (size_t f = 0; f < schema.size(); ++f) {
      const TensorSpec& row = schema.specs[f];
      if (!one.slots[f].data) {
        const RowListPtr rows = one.row_list(f, row.dtype);
        const bool is_all = batches.size() == 1;
        made.fields.push_back(ragged_column(is_all ? rows : rows->slice(first, batch.num_rows), row.dtype));
        continue;
      }
      Tensor& column = made.fields.emplace_back(one.columns[f]);
      column.offset += first * row.size_bytes();
      column.shape = row.shape.with_front(static_cast<int64_t>(batch.num_rows));
    }
    out.ends.push_back(out.outputs.size());
    first += batch.num_rows;
  }
}

void LevelBody::allow_rows() {
  if (!feeds_batches || makes_batches_ || most_together < kTogether) return;
  const std::shared_ptr<const Level> read = as_read(level_);
  if (!read) return;
  for (const TensorSpec& spec : read->schema.specs)
    if (!spec.is_static() && !are_texts(spec)) return;
  auto all = std::make_unique<LeafPlan>();
  all->rows = std::const_pointer_cast<Level>(read);  // the leaf is const
  if (column_bytes(*all) > fetcher_->budget() / kRowShare) return;
  const bool only_skips =
      std::ranges::all_of(chain, [](const Link& link) { return std::holds_alternative<SkipLink>(link); });
  if (!only_skips || read != level_) {
    together_ = Together::make(read->schema, level_->leaves[0].programs, chain, most_together, keep_failures);
    if (!together_) return;
  }
  as_batch_ = std::move(all);
  least_block_ = block_;
}

void LevelBody::settle_rows(uint64_t row_ns) {
  constexpr uint64_t kBookkeeping = sizeof(Position) + sizeof(Extent) + sizeof(Text) + sizeof(SampleName);
  const uint64_t row_bytes = row_bytes_.load(std::memory_order_relaxed) + kBookkeeping;
  const uint64_t fit = std::min(kTicketNs / row_ns, fetcher_->budget() / kTicketShare / row_bytes);
  // The smaller the group, the fewer samples must be read individually because of a damaged one.
  if (was_refused_.exchange(false, std::memory_order_relaxed)) {
    block_ = std::max(least_block_, block_ / 4);
    return;
  }
  const uint64_t want = std::max(least_block_, std::min(fit, kRowsAtOnce));
  block_ = want > block_ ? std::min(want, 2 * block_) : (block_ + want) / 2;
}

// False, without effects, if a row cannot be passed: then each is processed by itself, so that a failing one
// does not affect the others.
bool LevelBody::read_rows(Ticket& ticket, Part& part, Counters& counters) const {
  Ticket all;
  all.batch = as_batch_.get(), all.num_rows = part.count;
  if (!admit_batch(all, fetcher_->pool())) return false;
  Part& rows = all.parts.emplace_back();
  rows.count = part.count;
  const Stretch stand = stretch_of(ticket);
  locate({&stand, 1}, rows);  // their names are needed
  if (!fetch_and_pass(all, rows, {&stand, 1}, counters).ok() || !rows.has_passed) {
    was_refused_.store(true, std::memory_order_relaxed);
    return false;
  }
  note_bytes(all, rows);
  if (!together_) {  // otherwise run_together() fills in the ends
    ticket.ends.resize(rows.count);
    std::iota(ticket.ends.begin(), ticket.ends.end(), 1);
  }
  auto made = std::make_shared<Rows>();
  made->names = names_in(*level_, rows);
  const Schema& schema = all.batch->rows->schema;
  for (size_t f = 0; f < schema.size(); ++f) {
    const DType dtype = schema.specs[f].dtype;
    made->columns.push_back(all.slots[f].data ? all.columns[f]
                                              : ragged_column(all.row_list(f, dtype), dtype));
  }
  ticket.rows_made = std::move(made);
  ticket.row_outputs.clear();
  part.has_passed = !together_;
  return true;
}

void LevelBody::note_bytes(const Ticket& ticket, const Part& part) const {
  const Schema& schema = ticket.batch->rows->schema;
  uint64_t bytes = 0;
  for (size_t f = 0; f < schema.size(); ++f) {
    const LooseRows& rows = ticket.rows[f];
    if (ticket.slots[f].data) bytes += schema.specs[f].size_bytes() * part.count;
    for (size_t n = part.first; n < part.first + part.count && !ticket.slots[f].data; ++n)
      bytes += rows.are_texts ? rows.texts[n].size() : sizeof(Tensor) + rows.tensors[n].size_bytes();
  }
  const uint64_t mean = bytes / std::max<size_t>(1, part.count);
  uint64_t most = row_bytes_.load(std::memory_order_relaxed);
  while (mean > most && !row_bytes_.compare_exchange_weak(most, mean, std::memory_order_relaxed)) {
  }
}

}  // namespace headrace
