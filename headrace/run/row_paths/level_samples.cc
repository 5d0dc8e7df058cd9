// Identifies the sample of a row of a part.
#include "headrace/run/row_paths/level_body.h"

namespace headrace {
namespace {

// For a zip, the sample of the input that names it; for a batch, empty.
std::optional<SampleRef> sample_at(const LeafPlan& leaf, const Position& at) {
  if (leaf.source) return SampleRef{leaf.read, at.index};
  if (leaf.zipped.empty()) return std::nullopt;
  const Level& naming = *leaf.zipped[leaf.ids];
  Position below;
  naming.locate(at.index, at.epoch, at.occurrence, kWholeEpochs, {&below, 1});
  return sample_at(naming.leaves[below.leaf], below);
}

}  // namespace

std::optional<SampleRef> LevelBody::sample_of(const Ticket& ticket, const Part& part, size_t i) const {
  if (i < part.at.size()) {
    const Level& level = ticket.batch ? *ticket.batch->rows : *level_;
    return sample_at(level.leaves[part.at[i].leaf], part.at[i]);
  }
  // Rows that were copied while being located do not store positions: locate this one again.
  if (many_batches_ || i >= part.count) return std::nullopt;
  size_t row = part.first + i;
  const BatchOfMany* batch = ticket.batches.data();
  for (; batch != ticket.batches.data() + ticket.batches.size() && row >= batch->num_rows; ++batch)
    row -= batch->num_rows;
  const Stretch rows = ticket.batches.empty() ? stretch_of(ticket) : rows_of(level_->leaves[0], batch->at);
  Position at;
  locate({&rows, 1}, row, {&at, 1});
  return sample_at(rows.level->leaves[at.leaf], at);
}

}  // namespace headrace
