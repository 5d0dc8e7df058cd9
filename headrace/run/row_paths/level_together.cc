// Elements that go through maps, filters and keys as columns (run/work/together.h): from memory, or read like
// the rows of a batch (level_many_reads.cc).
#include <numeric>
#include <utility>

#include "headrace/run/row_paths/level_body.h"

namespace headrace {

std::shared_ptr<const std::vector<SampleName>> names_in(const Level& level, const Part& part) {
  auto names = std::make_shared<std::vector<SampleName>>();
  names->reserve(part.count);
  for (const Position& at : part.at) {
    const Identity who = identity_of(level.leaves[at.leaf], at);
    names->push_back({who.id, who.shown});
  }
  return names;
}

// The inputs of joint processing: read, or from memory.
std::optional<Rows> LevelBody::incoming_rows(const Ticket& ticket, const Part& part,
                                             Evaluator& evaluator) const {
  if (ticket.rows_made) return *ticket.rows_made;
  if (as_batch_) return std::nullopt;
  const Schema& schema = together_->incoming();
  Rows rows;
  const auto slots = add_columns(schema, part.count, evaluator, rows.columns);
  if (!slots.ok() || !gather_incoming(*level_, schema, part, *slots)) return std::nullopt;
  rows.names = names_in(*level_, part);
  return rows;
}

RowStatus LevelBody::follow_each(const Rows& rows, Ticket& ticket, const Part& part,
                                 Evaluator& evaluator) const {
  ticket.row_outputs.assign(ticket.num_rows, {});
  for (size_t i = 0; i < rows.size(); ++i) {
    const Position& at = part.at[i];
    Status status = follow(
        rows.sample(i), 0, evaluator, [&] { return name_of(level_->leaves[at.leaf], at); },
        ticket.row_outputs[i]);
    if (!status.ok()) return {std::move(status), i};
  }
  return {};
}

std::optional<RowStatus> LevelBody::run_together(Ticket& ticket, const Part& part,
                                                 Evaluator& evaluator) const {
  evaluator.begin();
  std::optional<Rows> rows = incoming_rows(ticket, part, evaluator);
  if (!rows) return std::nullopt;
  std::vector<uint64_t> ends(part.count);
  std::iota(ends.begin(), ends.end(), 1);
  Together::Failure failure;
  const bool is_done = together_->run(*rows, ends, evaluator, failure);
  const std::shared_ptr<const Rows> read = std::exchange(ticket.rows_made, nullptr);
  if (!is_done) {
    if (read) was_refused_.store(true, std::memory_order_relaxed);
    if (!read || !level_->leaves[0].programs.empty()) return std::nullopt;
    return follow_each(*read, ticket, part, evaluator);
  }
  if (failure.status.code() == Code::exhausted) return RowStatus{std::move(failure.status), failure.sample};
  ticket.rows_made = std::make_shared<const Rows>(*std::move(rows));
  ticket.ends = std::move(ends);
  if (failure.status.ok()) return RowStatus{};
  const Position& at = part.at[failure.sample];
  return RowStatus{of_sample(std::move(failure.status), level_->leaves[at.leaf], at).at_place(failure.at),
                   failure.sample};
}

}  // namespace headrace
