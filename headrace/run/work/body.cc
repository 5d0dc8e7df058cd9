#include "headrace/run/work/body.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "headrace/formats/index/unchanged.h"
#include "headrace/run/evaluate/hold.h"
#include "headrace/run/work/sample_body.h"

namespace headrace {
namespace {

// Evaluates whether the predicate keeps the sample; the result takes no memory of the pool.
Status judge(const Program& predicate, const Sample& sample, Evaluator& evaluator, bool& keep) {
  const std::vector<Operand> fields = operands_of(sample.fields);
  const MutView verdict{DType::boolean, {}, reinterpret_cast<std::byte*>(&keep)};
  return evaluator.run({&predicate, 1}, fields, {sample.id, sample.shown_id}, {&verdict, 1}, {});
}

}  // namespace

bool is_data_error(const Status& status) {
  if (is_stale(status)) return false;  // the data set is another one: leaving out its samples would hide that
  return status.code() != Code::ok && status.code() != Code::cancelled && status.code() != Code::internal;
}

Result<bool> Body::admit(Ticket& ticket, size_t, Pool&) const {
  ticket.num_rows = 1;
  ticket.row_outputs.resize(1);
  ticket.parts.push_back({.count = 1});
  return true;
}

Status Body::fetch(Ticket&, Part&, Counters&) const { return {}; }

Status Body::finish(Ticket& ticket, Evaluator&) const {
  join_outputs(ticket);
  return {};
}

void Body::join_outputs(Ticket& ticket) {
  if (ticket.rows_made) return;
  for (size_t row = 0; row < ticket.row_outputs.size() && row <= ticket.error_row; ++row) {
    std::vector<Sample>& made = ticket.row_outputs[row];
    if (ticket.outputs.empty())
      ticket.outputs = std::move(made);
    else
      std::ranges::move(made, std::back_inserter(ticket.outputs));
    if (row < ticket.error_row) ticket.ends.push_back(ticket.outputs.size());
  }
  ticket.row_outputs.clear();
}

void Body::allow_together() {
  const auto* unbatch = chain.empty() ? nullptr : std::get_if<UnbatchLink>(&chain[0]);
  if (!unbatch) return;
  Schema row = unbatch->schema;
  for (TensorSpec& spec : row.specs) {
    if (is_text(spec.dtype) || spec.shape.rank() == 0) return;
    spec.shape = spec.shape.without_front();
  }
  rows_together_ = Together::make(row, {}, std::span(chain).subspan(1), most_together, keep_failures);
}

std::optional<Status> Body::unbatch_together(const Sample& batch, Ticket& ticket, Evaluator& evaluator,
                                             const SampleDescription& where) const {
  if (!rows_together_ || batch.failure) return std::nullopt;
  const Schema& row = rows_together_->incoming();
  const int64_t count = batch.fields[0].shape[0];
  for (size_t f = 0; f < batch.fields.size(); ++f) {
    const Tensor& field = batch.fields[f];
    if (field.is_ragged() || !(field.shape == row.specs[f].shape.with_front(count))) return std::nullopt;
  }
  Rows rows{batch.fields, nullptr};
  auto names = std::make_shared<std::vector<SampleName>>();
  name_rows({batch.id, batch.shown_id}, count, *names);
  rows.names = std::move(names);
  // Needed to find the row on which a function failed.
  std::vector<uint64_t> ends(rows_together_->calls_functions() ? static_cast<size_t>(count) : 0);
  std::iota(ends.begin(), ends.end(), 1);
  Together::Failure failure;
  if (!rows_together_->run(rows, ends, evaluator, failure)) return std::nullopt;
  if (failure.status.code() == Code::exhausted) return std::move(failure.status);
  ticket.rows_made = std::make_shared<const Rows>(std::move(rows));
  if (failure.status.ok()) return Status();
  return std::move(failure.status)
      .after(": " + where() + ", row " + std::to_string(failure.sample))
      .at_place(failure.at);
}

Status Body::follow(Sample sample, size_t link, Evaluator& evaluator, const SampleDescription& where,
                    std::vector<Sample>& out) const {
  for (; link < chain.size(); ++link) {
    if (std::get_if<SkipLink>(&chain[link])) {
      if (!sample.failure) continue;
      evaluator.counters().skipped.add(1);
      return {};
    }
    if (sample.failure) continue;
    Status status;
    bool keep = true;
    if (const auto* rows = std::get_if<UnbatchLink>(&chain[link])) {
      status = follow_rows(*rows, sample, link + 1, evaluator, where, out);
      if (status.ok()) return {};
    } else if (const auto* filter = std::get_if<FilterLink>(&chain[link])) {
      status = judge(filter->predicate, sample, evaluator, keep);
      if (!status.ok()) status = std::move(status).after(": " + where()).at_place(evaluator.failed_at());
    } else if (const auto* key = std::get_if<KeyLink>(&chain[link])) {
      Sample values = sample;
      status = follow_maps({&key->program, 1}, values, evaluator, where);
      if (status.ok())
        for (Tensor& value : values.fields) sample.fields.push_back(std::move(value));
    } else {
      status = follow_maps(std::get<std::vector<Program>>(chain[link]), sample, evaluator, where);
    }
    if (keeps(status, link))
      sample.failure = std::make_shared<const Status>(std::move(status));
    else
      HEADRACE_TRY(std::move(status));
    if (!sample.failure && !keep) return {};
  }
  out.push_back(std::move(sample));
  return {};
}

bool Body::keeps(const Status& status, size_t link) const {
  const bool skipped =
      keep_failures || std::any_of(chain.begin() + static_cast<std::ptrdiff_t>(link), chain.end(),
                                   [](const Link& l) { return std::holds_alternative<SkipLink>(l); });
  return skipped && is_data_error(status) && status.code() != Code::exhausted;
}

Status Body::follow_maps(std::span<const Program> programs, Sample& sample, Evaluator& evaluator,
                         const SampleDescription& where) const {
  const std::vector<Operand> fields = operands_of(sample.fields);
  std::vector<Tensor> made(programs.back().outputs.size());
  Status status = evaluator.run(programs, fields, {sample.id, sample.shown_id}, {}, made);
  if (!status.ok()) return std::move(status).after(": " + where()).at_place(evaluator.failed_at());
  sample.fields = std::move(made);
  return {};
}

Status Body::follow_rows(const UnbatchLink& link, const Sample& sample, size_t next, Evaluator& evaluator,
                         const SampleDescription& where, std::vector<Sample>& out) const {
  const auto has_rows = [&](size_t f) {
    const TensorSpec& spec = link.schema.specs[f];
    return is_text(spec.dtype) ? sample.fields[f].is_ragged() : spec.shape.rank() > 0;
  };
  int64_t rows = -1;
  for (size_t f = 0; f < sample.fields.size(); ++f) {
    if (!has_rows(f)) continue;
    const int64_t n = sample.fields[f].shape[0];
    if (rows >= 0 && n != rows)
      return invalid("field '" + link.schema.names[f] + "' has " + std::to_string(n) +
                     " rows, but another field has " + std::to_string(rows) + ": " + where())
          .in_op("unbatch");
    rows = n;
  }
  for (int64_t row = 0; row < rows; ++row) {
    Sample child{sample.id, sample.shown_id, {}, nullptr};
    child.id.child = child_number(sample.id.child, row);
    for (size_t f = 0; f < sample.fields.size(); ++f) {
      const Tensor& field = sample.fields[f];
      if (!has_rows(f))
        child.fields.push_back(field);
      else if (field.is_ragged())
        child.fields.push_back((*field.rows)[static_cast<size_t>(row)]);
      else {
        Tensor slice = field;
        slice.shape = field.shape.without_front();
        slice.offset += static_cast<size_t>(row) * slice.view().size_bytes();
        child.fields.push_back(std::move(slice));
      }
    }
    HEADRACE_TRY(follow(
        std::move(child), next, evaluator, [&] { return where() + ", row " + std::to_string(row); }, out));
  }
  return {};
}

Result<bool> SampleBody::admit(Ticket& ticket, size_t grain, Pool& pool) const {
  ticket.item.part();
  return Body::admit(ticket, grain, pool);
}

RowStatus SampleBody::run(Ticket& ticket, Part&, Evaluator& evaluator) const {
  ticket.row_outputs[0].clear();
  const Sample& sample = ticket.item.samples[0];
  const auto where = [&] { return "sample " + std::to_string(sample.id.index); };
  if (auto done = unbatch_together(sample, ticket, evaluator, where)) return {*std::move(done), 0};
  const std::shared_ptr<const void> held = hold_for({}, chain);
  return {follow(sample, 0, evaluator, where, ticket.row_outputs[0]), 0};
}

std::optional<SampleRef> SampleBody::sample_of(const Ticket& ticket, const Part&, size_t) const {
  const SampleId& id = ticket.item.samples[0].id;
  return SampleRef{id.read, id.index};
}

bool SampleBody::finish_at_once(Ticket& ticket) const {
  join_outputs(ticket);
  return true;
}

}  // namespace headrace
