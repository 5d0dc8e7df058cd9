// How much goes into a ticket. Small batches of rows in memory: many, because a ticket costs more than such a
// batch (for rows that are read: level_many_reads.cc); elements: enough to make a ticket worthwhile.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "headrace/core/saturate.h"
#include "headrace/run/row_paths/level_body.h"

namespace headrace {
namespace {

constexpr uint64_t kBytes = 64 << 10, kMostBatches = 32, kMostTicketRows = 512;  // of a ticket
constexpr size_t kShareOfBudget = 64;

bool is_plain_or_zip(const Level& level) {
  if (level.is_plain()) return true;
  const LeafPlan& leaf = level.leaves[0];
  return level.leaves.size() == 1 && !leaf.zipped.empty() && leaf.programs.empty() && leaf.caches.empty() &&
         leaf.replaces.empty() &&
         std::ranges::all_of(leaf.zipped, [](const auto& input) { return input->is_plain(); });
}

// Shifts the rows of a part by `by`, for memory shared with other batches.
void move_rows(Part& part, size_t by) {
  part.first += by;
  for (Part& input : part.zipped) move_rows(input, by);
}

bool all_in_slots(const LeafPlan& leaf) {
  const Schema& schema = leaf.rows->schema;
  for (size_t f = 0; f < schema.size(); ++f)
    if (!has_slots(leaf.batch, schema, f)) return false;
  return true;
}

// The bytes of a batch; empty if unknown in advance.
std::optional<uint64_t> bytes_of(const LeafPlan& leaf) {
  const Schema& schema = leaf.rows->schema;
  uint64_t row_bytes = 0;
  for (size_t f = 0; f < schema.size(); ++f) {
    TensorSpec row = schema.specs[f];
    if (!has_slots(leaf.batch, schema, f)) {
      row_bytes += sizeof(Tensor);
      if (leaf.batch.ragged || is_text(row.dtype)) continue;
      if (!leaf.batch.padding) return std::nullopt;
      auto padded = padded_spec(*leaf.batch.padding, schema, f, "padded_batch");
      if (!padded.ok() || !padded->is_static()) return std::nullopt;
      row = *std::move(padded);
    }
    row_bytes += row.size_bytes();
  }
  return std::max<uint64_t>(1, saturating_mul(row_bytes, leaf.batch.size));
}

}  // namespace

void LevelBody::allow_many_batches() {
  const Together* rows = rows_together();
  if (!makes_batches_ || (!chain.empty() && !rows) || (rows && rows->calls_functions())) return;
  uint64_t most = std::min<uint64_t>(kBytes, fetcher_->budget() / kShareOfBudget), batches = kMostBatches;
  for (const LeafPlan& leaf : level_->leaves) {
    if (!leaf.rows || !leaf.programs.empty() || !leaf.caches.empty() || !leaf.replaces.empty() ||
        !is_plain_or_zip(*leaf.rows))
      return;
    const auto bytes = bytes_of(leaf);
    const bool is_zip = !leaf.rows->leaves[0].zipped.empty();  // its rows come in one copy or one by one
    if (!bytes || ((rows || is_zip) && !all_in_slots(leaf))) return;
    batches = std::min(batches, most / *bytes);
    if (rows) batches = std::min(batches, kMostTicketRows / leaf.batch.size);
  }
  block_ = std::max<uint64_t>(1, batches);
  many_batches_ = block_ > 1;
}

void LevelBody::allow_together() {
  Body::allow_together();
  allow_many_batches();
  allow_many_reads();
  allow_rows();
  allow_elements_together();
  const bool works = !chain.empty() || std::ranges::any_of(level_->leaves, [](const LeafPlan& leaf) {
    return !leaf.programs.empty() || !leaf.caches.empty();
  });
  const bool is_quick = together_ && !together_->calls_functions();
  if (works && !is_quick && is_resident()) most_block_ = std::exchange(block_, 1);
}

// A millisecond of work is worth a ticket, and the consumer gets the first of many elements soon.
void LevelBody::settle_items(uint64_t row_ns) {
  if (many_reads_) return settle_reads(row_ns);
  if (as_batch_) return settle_rows(row_ns);
  constexpr uint64_t kItemNs = 1'000'000;
  if (most_block_ > 0) block_ = std::clamp<uint64_t>(kItemNs / row_ns, 1, std::min(2 * block_, most_block_));
}

void LevelBody::allow_elements_together() {
  const std::vector<LeafPlan>& leaves = level_->leaves;
  if (leaves.size() != 1 && !level_->is_plain()) return;
  const LeafPlan& leaf = leaves[0];
  if (leaf.rows || !leaf.resident() || !leaf.caches.empty() || !leaf.replaces.empty()) return;
  for (const auto& input : leaf.zipped)
    if (!input->is_plain()) return;
  together_ = Together::make(leaf.incoming, leaf.programs, chain, most_together, keep_failures);
  constexpr uint64_t kBytes = 64 << 10, kMostBlock = 512;  // of a ticket, to stay in the CPU caches
  if (together_ && !together_->calls_functions())          // functions may wait, one after the other
    block_ =
        std::clamp<uint64_t>(kBytes / std::max<size_t>(1, together_->sample_bytes()), block_, kMostBlock);
}

// Buffers for making batches one after the other.
struct LevelBody::Making {
  Part part;
  std::vector<Tensor> fields;  // of a row
  std::vector<MutView> slots;
  std::vector<std::vector<Tensor>> apart;  // rows without a slot
  std::vector<uint64_t> indices;           // of rows
};

std::string LevelBody::name_of_row(const Level& level, const LeafPlan& leaf, const Position& at,
                                   size_t i) const {
  Position row;
  leaf.rows->locate(first_row(level, leaf, at) + i * leaf.stride, at.epoch, at.occurrence,
                    start_of(*leaf.rows), {&row, 1});
  return name_of(leaf.rows->leaves[row.leaf], row);
}

void LevelBody::locate_rows(const LeafPlan& leaf, const Position& at, Part& part) const {
  const Stretch rows = rows_of(leaf, at);
  part.count = rows.count;
  locate({&rows, 1}, part);
}

// Takes rows field by field, if all are of one source.
bool LevelBody::take_columns(const Level& rows, Making& making) const {
  const Part& part = making.part;
  const uint32_t leaf = part.count > 0 ? part.at[0].leaf : 0;
  making.indices.clear();
  for (const Position& at : part.at) {
    if (at.leaf != leaf) return false;
    making.indices.push_back(at.index);
  }
  const Block& block = *resident_[rows.leaves[leaf].ordinal];
  for (size_t f = 0; f < making.slots.size(); ++f) {
    const MutView& slot = making.slots[f];
    const auto field = static_cast<int>(f);
    const bool taken = slot.data ? block.gather(making.indices, field, slot.data)
                                 : block.append(making.indices, field, making.apart[f]);
    if (!taken) return false;
  }
  return true;
}

// Takes rows one by one: those without a slot, and those that cannot be copied together.
bool LevelBody::take_rows(const Level& rows, Making& making) const {
  const Part& part = making.part;
  if (!part.zipped.empty()) return false;
  for (auto& tensors : making.apart) tensors.reserve(part.count);
  if (take_columns(rows, making)) return true;
  for (auto& tensors : making.apart) tensors.clear();
  for (size_t i = 0; i < part.count; ++i) {
    const Position& at = part.at[i];
    if (!resident_[rows.leaves[at.leaf].ordinal]->get(at.index, making.fields).ok()) return false;
    for (size_t f = 0; f < making.slots.size(); ++f) {
      const MutView& slot = making.slots[f];
      if (!slot.data) {
        making.apart[f].push_back(std::move(making.fields[f]));
        continue;
      }
      const View view = making.fields[f].view();
      if (!(view.shape == slot.shape.without_front()) || view.dtype != slot.dtype) return false;
      if (view.size_bytes() > 0) std::memcpy(slot.data + i * view.size_bytes(), view.data, view.size_bytes());
    }
  }
  return true;
}

// False: not possible this way.
Result<bool> LevelBody::make_batch(const LeafPlan& leaf, const Position& at, Evaluator& evaluator,
                                   Making& making, Sample& out) const {
  const Level& rows = *leaf.rows;
  const Schema& schema = rows.schema;
  locate_rows(leaf, at, making.part);
  making.slots.assign(schema.size(), {});
  making.apart.resize(schema.size());
  out.fields.resize(schema.size());
  bool in_slots = true;
  for (size_t f = 0; f < schema.size(); ++f) {
    if (!has_slots(leaf.batch, schema, f)) {
      in_slots = false, making.apart[f].clear();
      continue;
    }
    const TensorSpec& row = schema.specs[f];
    const TensorSpec column{row.dtype, row.shape.with_front(static_cast<int64_t>(making.part.count))};
    HEADRACE_ASSIGN(out.fields[f], evaluator.allocate(column, Use::slot));
    making.slots[f] = {column.dtype, column.shape,
                       const_cast<Buffer*>(out.fields[f].buffer.get())->mutable_data()};
  }
  if (in_slots && gather(rows, making.part, making.slots)) return true;
  if (!take_rows(rows, making)) return false;
  for (size_t f = 0; f < schema.size(); ++f) {
    if (making.slots[f].data) continue;
    const DType dtype = schema.specs[f].dtype;
    std::vector<Tensor>& apart = making.apart[f];
    if (leaf.batch.ragged || is_text(dtype)) {
      out.fields[f] = ragged_column(std::make_shared<const RowList>(std::move(apart)), dtype);
      continue;
    }
    const auto who = [&](size_t i) { return name_of_row(*level_, leaf, at, i); };
    HEADRACE_ASSIGN(out.fields[f], collate(apart, leaf.batch, schema, f, evaluator, who));
  }
  return true;
}

Result<bool> LevelBody::make_batches(Ticket& ticket, std::span<const Position> at,
                                     Evaluator& evaluator) const {
  ticket.outputs.reserve(at.size());
  Making making;
  for (size_t n = 0; n < at.size(); ++n) {
    const LeafPlan& leaf = level_->leaves[at[n].leaf];
    const Identity who = identity_of(leaf, at[n]);
    Sample& made = ticket.outputs.emplace_back(Sample{who.id, who.shown, {}, nullptr});
    HEADRACE_ASSIGN(const bool is_made, make_batch(leaf, at[n], evaluator, making, made));
    if (!is_made) return false;
    ticket.ends.push_back(n + 1);
  }
  return true;
}

// Makes the rows of all the batches together, for an unbatch that follows.
Result<bool> LevelBody::make_rows(Ticket& ticket, std::span<const Position> at, Evaluator& evaluator) const {
  const Together& together = *rows_together();
  std::vector<Part> parts;
  auto names = std::make_shared<std::vector<SampleName>>();
  std::vector<uint64_t> ends;
  for (const Position& batch : at) {
    const LeafPlan& leaf = level_->leaves[batch.leaf];
    const Identity who = identity_of(leaf, batch);
    locate_rows(leaf, batch, parts.emplace_back());
    move_rows(parts.back(), names->size());
    name_rows({who.id, who.shown}, static_cast<int64_t>(parts.back().count), *names);
    ends.push_back(names->size());
  }
  Rows rows;
  HEADRACE_ASSIGN(const std::vector<MutView> slots,
                  add_columns(together.incoming(), names->size(), evaluator, rows.columns));
  for (size_t n = 0; n < at.size(); ++n)
    if (!gather(*level_->leaves[at[n].leaf].rows, parts[n], slots)) return false;
  rows.names = std::move(names);
  Together::Failure none;  // only of functions, and there are none here
  if (!together.run(rows, ends, evaluator, none)) return false;
  HEADRACE_TRY(std::move(none.status));
  ticket.rows_made = std::make_shared<const Rows>(std::move(rows));
  ticket.ends = std::move(ends);
  return true;
}

// One after the other, so that a failure is attributed to its batch, and the batches before it are delivered.
RowStatus LevelBody::run_each_batch(Ticket& ticket, std::span<const Position> at,
                                    Evaluator& evaluator) const {
  ticket.row_outputs.assign(at.size(), {});
  for (size_t n = 0; n < at.size(); ++n) {
    const LeafPlan& leaf = level_->leaves[at[n].leaf];
    auto batch = batch_of(*level_, leaf, at[n], evaluator);
    if (!batch.ok()) return {batch.status(), n};
    Status status =
        follow(*std::move(batch), 0, evaluator, [&] { return name_of(leaf, at[n]); }, ticket.row_outputs[n]);
    if (!status.ok()) return {std::move(status), n};
  }
  return {};
}

RowStatus LevelBody::run_batches(Ticket& ticket, Evaluator& evaluator) const {
  evaluator.begin();
  const Item& item = ticket.item;
  std::vector<Position> at(item.count);
  level_->locate(item.first, item.epoch, item.occurrence, outer_, at, item.step);
  mark(*level_, item.valid, at);
  if (!ticket.batches.empty()) return run_each_batch(ticket, at, evaluator);
  const auto made = chain.empty() ? make_batches(ticket, at, evaluator) : make_rows(ticket, at, evaluator);
  if (made.ok() && *made) return {};
  ticket.outputs.clear(), ticket.ends.clear();
  if (!made.ok() && made.status().code() == Code::exhausted) return {made.status(), 0};
  return run_each_batch(ticket, at, evaluator);
}

}  // namespace headrace
