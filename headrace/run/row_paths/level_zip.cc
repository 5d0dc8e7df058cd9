// Rows of a zip: the rows of each input are located, fetched and joined.
#include <algorithm>
#include <iterator>

#include "headrace/run/row_paths/level_body.h"

namespace headrace {

// The inputs of a zip are fetched with its rows; if the level has other leaves too, or a cache, they are
// fetched when they are run.
void LevelBody::locate_zipped(const Level& level, Part& part) const {
  if (level.leaves.size() != 1 || !level.leaves[0].caches.empty()) return;
  part.zipped.resize(level.leaves[0].zipped.size());
  for (size_t k = 0; k < part.zipped.size(); ++k) {
    const std::unique_ptr<Level>& input = level.leaves[0].zipped[k];
    Part& made = part.zipped[k];
    made.first = part.first, made.count = part.count;
    made.at.resize(part.count);
    for (size_t i = 0; i < part.count;) {  // runs of positions that follow one another
      const Position& from = part.at[i];
      size_t n = 1;
      while (i + n < part.count && part.at[i + n].index == from.index + n &&
             part.at[i + n].epoch == from.epoch && part.at[i + n].occurrence == from.occurrence)
        ++n;
      input->locate(from.index, from.epoch, from.occurrence, kWholeEpochs, {made.at.data() + i, n});
      i += n;
    }
    for (size_t i = 0; i < part.count; ++i) made.at[i].valid = part.at[i].valid;
    locate_zipped(*input, made);
  }
}

bool LevelBody::gather_zipped(const Level& level, const Part& part, std::span<const MutView> slots) const {
  for (size_t k = 0; k < part.zipped.size(); ++k) {
    const Level& input = *level.leaves[0].zipped[k];
    if (!gather(input, part.zipped[k], slots.first(input.schema.size()))) return false;
    slots = slots.subspan(input.schema.size());
  }
  return true;
}

// The element of each input, evaluated on its own: an on_error of the input handles its failures.
Result<std::vector<Tensor>> LevelBody::zipped_fields(const LeafPlan& leaf, const Row& row,
                                                     Evaluator& evaluator) const {
  std::vector<Tensor> fields;
  for (size_t k = 0; k < leaf.zipped.size(); ++k) {
    const Level& input = *leaf.zipped[k];
    const Part* part = row.part ? &row.part->zipped[k] : nullptr;
    Status status;
    if (part && !input.leaves[part->at[row.in_part].leaf].rows) {
      const Row below = row_of(input, *part, row.in_part, row.at.index, row.at.epoch);
      std::vector<Tensor> made(input.schema.size());
      Identity ignored;
      status = run_row(below, evaluator, {}, made, ignored);
      std::ranges::move(made, std::back_inserter(fields));
    } else {
      Result<Sample> made =
          element(input, row.at.index, row.at.epoch, row.at.occurrence, evaluator, row.at.valid);
      status = made.status();
      if (made.ok()) std::ranges::move(made->fields, std::back_inserter(fields));
    }
    if (status.ok()) continue;
    evaluator.begin();  // it failed before any program of this leaf
    return status;
  }
  evaluator.begin();
  return fields;
}

Status LevelBody::run_zip(const LeafPlan& leaf, const Row& row, Evaluator& evaluator,
                          std::span<const MutView> slots, std::span<Tensor> out, const Identity& who) const {
  HEADRACE_ASSIGN(const std::vector<Tensor> fields, zipped_fields(leaf, row, evaluator));
  const auto mark = evaluator.scratch().mark();
  Status status = evaluator.run_or_pass(leaf.programs, leaf.incoming, operands_of(fields), who, slots, out);
  evaluator.scratch().reset(mark);
  return status;
}

}  // namespace headrace
