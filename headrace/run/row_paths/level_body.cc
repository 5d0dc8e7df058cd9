#include "headrace/run/row_paths/level_body.h"

#include <algorithm>
#include <cstring>

#include "headrace/run/evaluate/hold.h"
#include "headrace/run/work/leave_blocks.h"

namespace headrace {
namespace {

uint64_t shown(const LeafPlan& leaf, uint64_t index) {
  return index | static_cast<uint64_t>(leaf.read) << 48;
}

SampleId id_of(const LeafPlan& leaf, const Position& at) {
  return {at.index, at.epoch, leaf.read, at.occurrence, 0, at.valid};
}

// The line of the operator that failed, or of the read if no operator was reached.
std::string line(const LeafPlan& leaf, const Evaluator& evaluator) {
  const std::string failed_at = evaluator.failed_at();
  return failed_at.empty() ? leaf.made_at : failed_at;
}

// Of the batch at a position, whose first row is `first`.
bool is_more_than_padding(const LeafPlan& leaf, uint64_t first, const Position& at,
                          const Level::Start& start) {
  const uint64_t count = leaf.rows_from(first, leaf.rows->size(at.epoch, start));
  Position row;
  for (uint64_t i = 0; i < count; ++i) {
    leaf.rows->locate(first + i * leaf.stride, at.epoch, at.occurrence, start, {&row, 1});
    if (row.valid) return true;
  }
  return count == 0;
}

}  // namespace

Identity identity_of(const LeafPlan& leaf, const Position& at) {
  if (leaf.zipped.empty()) return {id_of(leaf, at), shown(leaf, at.index)};
  const Level& naming = *leaf.zipped[leaf.ids];
  Position below;
  naming.locate(at.index, at.epoch, at.occurrence, kWholeEpochs, {&below, 1});
  below.valid = at.valid;
  return identity_of(naming.leaves[below.leaf], below);
}

LevelBody::LevelBody(std::shared_ptr<const Level> level, std::shared_ptr<Fetcher> fetcher)
    : level_(std::move(level)), fetcher_(std::move(fetcher)) {
  for (const LeafPlan& leaf : level_->leaves) makes_batches_ = makes_batches_ || leaf.rows;
}

bool LevelBody::forget_kept() { return fetcher_->forget(); }

bool LevelBody::is_resident() const {
  return std::ranges::all_of(level_->leaves,
                             [](const LeafPlan& leaf) { return !leaf.rows && leaf.resident(); });
}

Status LevelBody::prepare(Counters& counters) {
  std::vector<const Level*> open{level_.get()};
  while (!open.empty()) {
    const Level* level = open.back();
    open.pop_back();
    fetcher_->keep(level->kept_blocks);
    for (const LeafPlan& leaf : level->leaves) {
      if (leaf.rows) open.push_back(leaf.rows.get());
      for (const auto& zipped : leaf.zipped) open.push_back(zipped.get());
      if (resident_.size() <= leaf.ordinal) resident_.resize(leaf.ordinal + 1);
      if (leaf.source && leaf.source->resident() && leaf.source->size() > 0) {
        HEADRACE_ASSIGN(resident_[leaf.ordinal], fetcher_->block(*leaf.source, 0, counters));
      }
    }
  }
  return {};
}

// A resumed epoch begins at a position of the outermost level or of the rows of its batches; deeper levels
// follow from that.
const Level::Start& LevelBody::start_of(const Level& level) const {
  if (&level == level_.get()) return outer_;
  for (const LeafPlan& leaf : level_->leaves)
    if (leaf.rows.get() == &level) return rows_;
  return kWholeEpochs;
}

uint64_t LevelBody::first_row(const Level& level, const LeafPlan& leaf, const Position& at) const {
  const uint64_t shift = &level == level_.get() ? rows_.shift_in(at.epoch) : 0;
  return (at.index - shift) * leaf.shift;
}

Result<bool> LevelBody::admit(Ticket& ticket, size_t grain, Pool& pool) const {
  ticket.many_batches = many_batches_;
  ticket.num_rows = ticket.item.count;
  if (many_batches_) {
    ticket.parts.push_back({.count = ticket.num_rows});
    return true;
  }
  if (many_reads_ && ticket.item.count > 1) {
    admit_many(ticket);
    return true;
  }
  if (makes_batches_) {
    Position& at = ticket.batch_at;
    level_->locate(ticket.item.first, ticket.item.epoch, ticket.item.occurrence, outer_, {&at, 1});
    mark(*level_, ticket.item.valid, {&at, 1});
    const LeafPlan& leaf = level_->leaves[at.leaf];
    if (leaf.rows && leaf.caches.empty()) {
      ticket.batch = &leaf;
      ticket.num_rows = rows_of(leaf, at).count;
      HEADRACE_TRY(check_fits(ticket, pool));
      if (!admit_batch(ticket, pool)) return false;
    }
  }
  const Stretch rows = stretch_of(ticket);
  const uint64_t bookkeeping = saturating_mul(ticket.num_rows, sizeof(Position) + sizeof(Part) / grain);
  if (bookkeeping > pool.budget())
    return over_budget(bookkeeping, pool,
                       ticket.batch ? "batch: the bookkeeping of its rows" : "the bookkeeping of samples");
  // Slow functions run one by one, so that several workers share them.
  constexpr size_t kParts = 4;
  const bool together =
      together_ && !as_batch_ && (!together_->calls_functions() || grain * kParts >= ticket.num_rows);
  const bool as_rows = as_batch_ && grain >= std::min(ticket.num_rows, least_block_);
  if (!ticket.batch && (together || as_rows)) grain = std::max<size_t>(1, ticket.num_rows);
  if (!ticket.batch) ticket.row_outputs.resize(together ? 0 : ticket.num_rows);
  const auto is_read = [&](const Position& at) { return rows.level->leaves[at.leaf].is_read(); };
  for (size_t i = 0; i < ticket.num_rows; i += grain) {
    Part part;
    part.first = i, part.count = std::min(grain, ticket.num_rows - i);
    // The part is located when it is fetched or run, without the executor's mutex, unless its positions are
    // needed now to know whether it reads.
    if (rows.level->reads && !rows.level->all_read) locate({&rows, 1}, part);
    if (rows.level->all_read || std::ranges::any_of(part.at, is_read)) part.state = Part::State::io;
    ticket.parts.push_back(std::move(part));
  }
  return true;
}

LevelBody::Stretch LevelBody::stretch_of(const Ticket& ticket) const {
  const Item& item = ticket.item;
  if (ticket.batch) return rows_of(*ticket.batch, ticket.batch_at);
  return {level_.get(), item.first, item.step, item.epoch, item.occurrence, item.valid, ticket.num_rows};
}

// Marks elements that were added to even out ranks, unless `valid`, and batches that have only such rows.
void LevelBody::mark(const Level& level, bool valid, std::span<Position> elements) const {
  for (Position& at : elements) {
    const LeafPlan& leaf = level.leaves[at.leaf];
    at.valid = at.valid && valid;
    if (!at.valid || !leaf.rows) continue;
    if (leaf.rows->marks || (leaf.rows->shard && leaf.rows->shard->even == Even::pad))
      at.valid = is_more_than_padding(leaf, first_row(level, leaf, at), at, start_of(*leaf.rows));
  }
}

LevelBody::Stretch LevelBody::rows_of(const LeafPlan& leaf, const Position& at) const {
  const uint64_t first = first_row(*level_, leaf, at);
  const size_t count = leaf.rows_from(first, leaf.rows->size(at.epoch, rows_));
  return {leaf.rows.get(), first, leaf.stride, at.epoch, at.occurrence, at.valid, count};
}

// Locates rows first, first + 1 … of all stretches.
void LevelBody::locate(Stretches rows, size_t first, std::span<Position> out) const {
  for (const Stretch& some : rows) {
    if (first >= some.count) {
      first -= some.count;
      continue;
    }
    const auto now = out.first(std::min(out.size(), some.count - first));
    some.level->locate(some.first + first * some.step, some.epoch, some.occurrence, start_of(*some.level),
                       now, some.step);
    for (size_t i = 0; !some.valid && i < now.size(); ++i) now[i].valid = false;
    out = out.subspan(now.size()), first = 0;
    if (out.empty()) return;
  }
}

void LevelBody::locate(Stretches rows, Part& part) const {
  part.at.resize(part.count);
  locate(rows, part.first, part.at);
  locate_zipped(*rows[0].level, part);
}

// Checks the part of the batch's size that is known in advance: the columns of fixed shapes.
Status LevelBody::check_fits(const Ticket& ticket, const Pool& pool) const {
  const LeafPlan& leaf = *ticket.batch;
  size_t bytes = 0;
  const Schema& schema = leaf.rows->schema;
  for (size_t f = 0; f < schema.size(); ++f)
    if (has_slots(leaf.batch, schema, f)) bytes += schema.specs[f].size_bytes() * ticket.num_rows;
  if (bytes <= pool.budget()) return {};
  return Status(Code::exhausted, "batch of " + std::to_string(ticket.num_rows) + ": needs " +
                                     std::to_string(bytes) + " bytes, but the memory budget is " +
                                     std::to_string(pool.budget()) +
                                     "; use a smaller batch or a larger memory_budget")
      .at_place(leaf.made_at);
}

bool LevelBody::admit_batch(Ticket& ticket, Pool& pool) const {
  const LeafPlan& leaf = *ticket.batch;
  const Schema& schema = leaf.rows->schema;
  ticket.slots.resize(schema.size());
  ticket.columns.resize(schema.size());
  ticket.rows.resize(schema.size());
  for (size_t f = 0; f < schema.size(); ++f) {
    const TensorSpec& spec = schema.specs[f];
    if (!has_slots(leaf.batch, schema, f)) {
      LooseRows& rows = ticket.rows[f];
      rows.are_texts = are_texts(spec);
      if (!rows.are_texts) {
        if (saturating_mul(ticket.num_rows, sizeof(Tensor)) > pool.budget()) return false;
        rows.tensors.resize(ticket.num_rows);
        continue;
      }
      const auto memory = pool.take(saturating_mul(ticket.num_rows, sizeof(Text)), Use::ragged);
      if (!memory) return false;
      rows.memory = memory, rows.texts = make_texts(*memory);
      continue;
    }
    const TensorSpec column{spec.dtype, spec.shape.with_front(static_cast<int64_t>(ticket.num_rows))};
    auto buffer = pool.take(std::max<size_t>(column.size_bytes(), 1), Use::slot);
    if (!buffer) return false;
    ticket.slots[f] = {spec.dtype, column.shape, buffer->mutable_data()};
    ticket.columns[f] = {std::move(buffer), 0, spec.dtype, column.shape, nullptr};
  }
  return true;
}

// Gathers all rows of the part, if nothing else is to be done. Positions are located in small blocks that
// stay in the CPU caches.
bool LevelBody::gather_in_blocks(const Ticket& ticket, const Stretch& rows, const Part& part) const {
  const auto gathered = [&](const Part& some) {
    return gather(*rows.level, some, ticket.slots) || gather_cached(*rows.level, some, ticket.slots);
  };
  if (!part.at.empty()) return gathered(part);
  constexpr size_t kBlock = 256;
  Part block;
  for (size_t done = 0; done < part.count; done += block.count) {
    block.first = part.first + done, block.count = std::min(kBlock, part.count - done);
    locate({&rows, 1}, block);
    if (!gathered(block)) return false;
  }
  return true;
}

// Rows of resident sources that go through no program: one copy for each run of one source.
bool LevelBody::gather(const Level& level, const Part& part, std::span<const MutView> slots) const {
  for (const LeafPlan& leaf : level.leaves)
    if (!leaf.programs.empty()) return false;
  return gather_incoming(level, level.schema, part, slots);
}

// Gathers the inputs of the programs of a level, whose leaves all have this schema.
bool LevelBody::gather_incoming(const Level& level, const Schema& schema, const Part& part,
                                std::span<const MutView> slots) const {
  for (const LeafPlan& leaf : level.leaves)
    if (!leaf.caches.empty() || leaf.rows || !leaf.resident()) return false;
  if (!part.zipped.empty()) return gather_zipped(level, part, slots);
  for (size_t f = 0; f < slots.size(); ++f)
    if (!slots[f].data || !schema.specs[f].is_static()) return false;
  std::vector<uint64_t> indices;
  for (size_t i = 0; i < part.count;) {
    const LeafPlan& leaf = level.leaves[part.at[i].leaf];
    if (!leaf.source) return false;
    size_t end = i;
    indices.clear();
    for (; end < part.count && part.at[end].leaf == part.at[i].leaf; ++end)
      indices.push_back(part.at[end].index);
    const Block& block = *resident_[leaf.ordinal];
    for (size_t f = 0; f < slots.size(); ++f) {
      const size_t row_bytes = schema.specs[f].size_bytes();
      if (!block.gather(indices, static_cast<int>(f), slots[f].data + (part.first + i) * row_bytes))
        return false;
    }
    i = end;
  }
  return true;
}

// Rows that go only through Python functions take the GIL once for all. Only if nothing else can wait in that
// time: blocks are in memory, and no row is replaced.
std::shared_ptr<const void> LevelBody::hold(const Level& level, const Part& part) const {
  if (level.leaves.size() != 1) return nullptr;
  const LeafPlan& leaf = level.leaves[0];
  if (!leaf.source || !leaf.replaces.empty() || !leaf.caches.empty() ||
      (part.blocks.empty() && !leaf.source->resident()))
    return nullptr;
  return hold_for(leaf.programs,
                  &level == level_.get() ? std::span<const Link>(chain) : std::span<const Link>());
}

RowStatus LevelBody::run(Ticket& ticket, Part& part, Evaluator& evaluator) const {
  evaluator.row_times().begin(0);
  if (many_batches_ || !ticket.batches.empty()) return run_batches(ticket, evaluator);
  const Stretch rows = stretch_of(ticket);
  if (ticket.batch && gather_in_blocks(ticket, rows, part)) return {};
  if (part.at.empty()) locate({&rows, 1}, part);
  if (!ticket.batch && ticket.row_outputs.empty()) {  // together
    if (auto done = run_together(ticket, part, evaluator)) return *std::move(done);
    ticket.row_outputs.resize(ticket.num_rows);
  }
  const Level& level = *rows.level;
  const std::shared_ptr<const void> held = hold(level, part);
  std::optional<MeasuredWait> waited;
  if (calls_functions(level.leaves[0].programs, chain)) waited.emplace(evaluator, held != nullptr);
  std::vector<MutView> slots(ticket.slots.size());
  std::vector<Tensor> out(level.schema.size()), passing;
  ticket.begin_rows(part);
  RowTimes& times = evaluator.row_times();
  times.begin(part.count);
  RowsThatLeave leaving(level, part, fetcher_->pool());
  for (size_t i = 0; i < part.count; ++i) {
    times.next_row();
    if (ticket.batch && pass(ticket, part, i, passing)) {
      part.forget_row(i);
      continue;
    }
    const size_t n = part.first + i;
    const Row row = row_of(level, part, i, rows.first + n * rows.step, rows.epoch);
    leaving.begin_row(i);
    for (size_t f = 0; f < slots.size(); ++f) {
      const TensorSpec& spec = level.schema.specs[f];
      slots[f] = {spec.dtype, spec.shape, nullptr};
      if (ticket.slots[f].data) slots[f].data = ticket.slots[f].data + n * spec.size_bytes();
    }
    Identity who;
    Status status = run_row(row, evaluator, slots, out, who);
    if (ticket.batch && status.ok()) {
      for (size_t f = 0; f < slots.size(); ++f)
        if (!slots[f].data) {
          if (ticket.rows[f].are_texts) leaving.leave(out[f]);
          ticket.set_row(part, f, n, std::move(out[f]));
        }
    } else if (!ticket.batch && (status.ok() || keeps(status, 0))) {
      Sample sample{who.id, who.shown, std::move(out), nullptr};
      if (!status.ok()) sample.failure = std::make_shared<const Status>(std::move(status));
      ticket.row_outputs[n].clear();
      status = follow(
          std::move(sample), 0, evaluator, [&] { return name_of(level.leaves[row.at.leaf], row.at); },
          ticket.row_outputs[n]);
      if (status.ok()) status = leaving.leave(ticket.row_outputs[n]);
      out.assign(level.schema.size(), {});
    }
    if (!status.ok()) return {std::move(status), n};
    part.forget_row(i);
  }
  times.end();
  return {};
}

LevelBody::Row LevelBody::row_of(const Level& level, const Part& part, size_t i, uint64_t position,
                                 uint64_t epoch) {
  Row row{&level, position, epoch, part.at[i]};
  if (!part.blocks.empty())
    row.fetched = &part.blocks[i], row.in_block = part.rows[i], row.failure = &part.failures[i];
  if (!part.zipped.empty()) row.part = &part, row.in_part = i;
  return row;
}

Status LevelBody::run_row(const Row& row, Evaluator& evaluator, std::span<const MutView> slots,
                          std::span<Tensor> out, Identity& who) const {
  const LeafPlan& leaf = row.level->leaves[row.at.leaf];
  who = identity_of(leaf, row.at);
  Status status = run_leaf(leaf, row, evaluator, slots, out, who);
  if (status.ok()) return status;
  status = of_sample(std::move(status), leaf, row.at).at_place(line(leaf, evaluator));
  if (leaf.replaces.empty() || !is_data_error(status) || status.code() == Code::exhausted) return status;
  bool wrapped = false;
  const Attempt here{row.level->order.get(),
                     row.level->global(row.position, row.epoch, start_of(*row.level), &wrapped), row.epoch,
                     kTop};
  const LeafPlan* failed_in = &leaf;
  return replace(here, row, failed_in, evaluator, slots, out, who, std::move(status));
}

// The block of a row, and the row's index in it.
Result<BlockPtr> LevelBody::block_of(const LeafPlan& leaf, const Row& row, Evaluator& evaluator,
                                     uint64_t* in_block) const {
  if (row.failure && !row.failure->ok()) return *row.failure;
  *in_block = row.in_block;
  if (row.fetched && *row.fetched) return *row.fetched;
  const Place place = leaf.source->place(row.at.index);
  *in_block = place.row;
  return fetcher_->block(*leaf.source, place.block, evaluator.counters());
}

// The fields of a row of a source.
Result<std::vector<Tensor>> LevelBody::source_fields(const LeafPlan& leaf, const Row& row,
                                                     Evaluator& evaluator) const {
  std::vector<Tensor> fields;
  if (leaf.source->resident()) {
    HEADRACE_TRY(resident_[leaf.ordinal]->get(row.at.index, fields));
    return fields;
  }
  uint64_t index = 0;
  const auto block = block_of(leaf, row, evaluator, &index);
  if (!block.ok()) return said_by_format(block.status(), *leaf.source);
  HEADRACE_TRY(said_by_format((*block)->get(index, fields), *leaf.source));
  return fields;
}

Status LevelBody::run_leaf(const LeafPlan& leaf, const Row& row, Evaluator& evaluator,
                           std::span<const MutView> slots, std::span<Tensor> out, const Identity& who) const {
  evaluator.begin();
  if (!leaf.caches.empty()) return run_cached(leaf, row, evaluator, slots, out, who);
  if (leaf.rows) {
    HEADRACE_ASSIGN(const Sample batch, batch_of(*row.level, leaf, row.at, evaluator));
    return evaluator.run_or_pass({}, leaf.schema(), operands_of(batch.fields), who, slots, out);
  }
  if (!leaf.zipped.empty()) return run_zip(leaf, row, evaluator, slots, out, who);
  std::vector<Tensor> fields;
  std::vector<Operand> operands;
  const auto mark = evaluator.scratch().mark();
  bool gathered = leaf.source->resident() && leaf.incoming.size() > 0;
  for (size_t f = 0; gathered && f < leaf.incoming.size(); ++f) {
    const TensorSpec& spec = leaf.incoming.specs[f];
    gathered = spec.is_static();
    if (!gathered) break;
    auto bytes = evaluator.scratch().take(std::max<size_t>(spec.size_bytes(), 1));
    gathered = !bytes.empty() &&
               resident_[leaf.ordinal]->gather({&row.at.index, 1}, static_cast<int>(f), bytes.data());
    operands.push_back({{spec.dtype, spec.shape, bytes.data()}, nullptr});
  }
  if (!gathered) {
    HEADRACE_ASSIGN(fields, source_fields(leaf, row, evaluator));
    operands = operands_of(fields);
  }
  Status status = evaluator.run_or_pass(leaf.programs, leaf.incoming, operands, who, slots, out);
  evaluator.scratch().reset(mark);
  return status;
}

// May run again after it found no memory: the results of the parts stay in the ticket until all is done.
Status LevelBody::finish(Ticket& ticket, Evaluator& evaluator) const {
  if (!ticket.batch) return Body::finish(ticket, evaluator);
  const LeafPlan& leaf = *ticket.batch;
  const Schema& schema = leaf.rows->schema;
  Sample sample{id_of(leaf, ticket.batch_at), shown(leaf, ticket.batch_at.index), ticket.columns, nullptr};
  const auto who = [&](size_t i) { return name_of_row(*level_, leaf, ticket.batch_at, i); };
  for (size_t f = 0; f < schema.size(); ++f) {
    if (ticket.slots[f].data) continue;
    const TensorSpec& spec = schema.specs[f];
    if (leaf.batch.ragged || is_text(spec.dtype)) {
      sample.fields[f] = ragged_column(ticket.row_list(f, spec.dtype), spec.dtype);
      continue;
    }
    HEADRACE_ASSIGN(sample.fields[f], collate(ticket.rows[f].tensors, leaf.batch, schema, f, evaluator, who));
  }
  const auto place = [&] { return name_of(leaf, ticket.batch_at); };
  if (!leaf.programs.empty()) HEADRACE_TRY(follow_maps(leaf.programs, sample, evaluator, place));
  ticket.outputs.clear();
  if (auto done = unbatch_together(sample, ticket, evaluator, place))
    HEADRACE_TRY(*std::move(done));
  else
    HEADRACE_TRY(follow(std::move(sample), 0, evaluator, place, ticket.outputs));
  ticket.rows.clear(), ticket.columns.clear();
  return {};
}

// Succeeds if neither memory nor programs are needed: fields are in their slots, or only share their rows.
bool LevelBody::finish_at_once(Ticket& ticket) const {
  if (ticket.rows_made || !ticket.outputs.empty()) return true;  // the parts have made everything
  if (!ticket.batch || !chain.empty() || !ticket.batch->programs.empty()) return false;
  const LeafPlan& leaf = *ticket.batch;
  const Schema& schema = leaf.rows->schema;
  for (size_t f = 0; f < schema.size(); ++f)
    if (!ticket.slots[f].data && !leaf.batch.ragged && !is_text(schema.specs[f].dtype)) return false;
  Sample sample{id_of(leaf, ticket.batch_at), shown(leaf, ticket.batch_at.index), std::move(ticket.columns),
                nullptr};
  for (size_t f = 0; f < schema.size(); ++f)
    if (!ticket.slots[f].data)
      sample.fields[f] = ragged_column(ticket.row_list(f, schema.specs[f].dtype), schema.specs[f].dtype);
  ticket.outputs.clear();
  ticket.outputs.push_back(std::move(sample));
  ticket.rows.clear(), ticket.columns.clear();
  return true;
}

Result<Sample> LevelBody::element(const Level& level, uint64_t position, uint64_t epoch, uint32_t occurrence,
                                  Evaluator& evaluator, bool valid) const {
  Position at;
  level.locate(position, epoch, occurrence, start_of(level), {&at, 1});
  mark(level, valid, {&at, 1});
  const LeafPlan& leaf = level.leaves[at.leaf];
  if (!leaf.rows || !leaf.caches.empty()) {
    std::vector<Tensor> out(leaf.schema().size());
    Identity who;
    const Row row{&level, position, epoch, at};
    HEADRACE_TRY(run_row(row, evaluator, {}, out, who));
    return Sample{who.id, who.shown, std::move(out), nullptr};
  }
  return batch_of(level, leaf, at, evaluator);
}

Result<std::vector<Tensor>> LevelBody::gathered(const Level& level, const LeafPlan& leaf, const Position& at,
                                                Evaluator& evaluator) const {
  const uint64_t first = first_row(level, leaf, at);
  const uint64_t n = leaf.rows_from(first, leaf.rows->size(at.epoch, start_of(*leaf.rows)));
  std::vector<std::vector<Tensor>> columns(leaf.rows->schema.size());
  for (uint64_t i = 0; i < n; ++i) {
    HEADRACE_ASSIGN(Sample row, element(*leaf.rows, first + i * leaf.stride, at.epoch, at.occurrence,
                                        evaluator, at.valid));
    for (size_t f = 0; f < columns.size(); ++f) columns[f].push_back(std::move(row.fields[f]));
  }
  const auto who = [&](size_t i) { return name_of_row(level, leaf, at, i); };
  std::vector<Tensor> fields;
  for (size_t f = 0; f < columns.size(); ++f) {
    HEADRACE_ASSIGN(Tensor column, collate(columns[f], leaf.batch, leaf.rows->schema, f, evaluator, who));
    fields.push_back(std::move(column));
  }
  return fields;
}

Result<Sample> LevelBody::batch_of(const Level& level, const LeafPlan& leaf, const Position& at,
                                   Evaluator& evaluator) const {
  HEADRACE_ASSIGN(std::vector<Tensor> fields, gathered(level, leaf, at, evaluator));
  Sample sample{id_of(leaf, at), shown(leaf, at.index), std::move(fields), nullptr};
  if (!leaf.programs.empty())
    HEADRACE_TRY(follow_maps(leaf.programs, sample, evaluator, [&] { return name_of(leaf, at); }));
  return sample;
}

}  // namespace headrace
