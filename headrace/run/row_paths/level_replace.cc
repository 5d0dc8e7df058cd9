// on_error("replace"): another sample in place of one that failed.
#include <algorithm>

#include "headrace/run/row_paths/level_body.h"

namespace headrace {
namespace {

constexpr uint64_t kReplaceTries = 100;

// Appended to the error of a sample: why it was not replaced.
std::string in_vain(uint64_t tries, uint64_t others, const Status& last) {
  if (others == 0) return "; and there is no other sample";
  const std::string who = tries < others ? "the next " + std::to_string(tries) + " samples in order"
                                         : "all " + std::to_string(others + 1) + " samples";
  return "; " + who + " failed" + (tries < others ? " too" : "") + ", the last: " + std::string(last.text());
}

// Whether the on_error("replace") of a mark covers the failed program of this leaf. Branches differ in that.
bool covers(const LeafPlan& leaf, uint32_t mark, size_t failed) {
  if (failed == Evaluator::kBeforePrograms) return true;
  return failed < std::ranges::find(leaf.replaces, mark, &LeafPlan::Replace::mark)->covered;
}

}  // namespace

// The element at `here` failed. The innermost on_error("replace") that covers the failure takes the next good
// position in the order right below it, cyclic: that sample's data and id, with the random draws of this
// place. Each attempt may fail and be replaced further inside; a failure that only an outer one covers is
// left to that one.
Status LevelBody::replace(const Attempt& here, const Row& row, const LeafPlan*& leaf, Evaluator& evaluator,
                          std::span<const MutView> slots, std::span<Tensor> out, Identity& who,
                          Status first) const {
  const std::span<const LeafPlan::Replace> replaces = leaf->replaces;
  for (const LeafPlan::Replace& inner : replaces) {
    if (inner.mark == here.below) break;
    if (!covers(*leaf, inner.mark, evaluator.failed())) continue;
    Mark mark{inner.mark, 0, 0};
    Position slot{here.index, here.epoch, 0, 0, true, &mark};
    here.order->locate({&slot, 1});
    Status last;
    const uint64_t others = inner.total - 1, most = std::min(kReplaceTries, others);
    uint64_t tries = 1;
    for (; tries <= most; ++tries) {
      last = attempt({inner.order, (mark.index + tries) % inner.total, mark.epoch, inner.mark}, row, leaf,
                     evaluator, slots, out, who);
      if (last.ok()) evaluator.counters().replaced.add(1);
      if (last.ok() || !is_data_error(last)) return last;
      if (!covers(*leaf, inner.mark, evaluator.failed())) break;  // left to an outer one
    }
    if (tries > most) return std::move(first).after(in_vain(most, others, last));
  }
  return first;
}

Status LevelBody::attempt(const Attempt& there, const Row& row, const LeafPlan*& leaf, Evaluator& evaluator,
                          std::span<const MutView> slots, std::span<Tensor> out, Identity& who) const {
  Row other{row.level, row.position, row.epoch, {there.index, there.epoch, 0, 0, who.id.valid, nullptr}};
  there.order->locate({&other.at, 1});
  leaf = &row.level->leaves[other.at.leaf];
  who.shown = identity_of(*leaf, other.at).shown;
  Status status = run_leaf(*leaf, other, evaluator, slots, out, who);
  if (status.ok() || leaf->replaces[0].mark == there.below || !is_data_error(status)) return status;
  return replace(there, row, leaf, evaluator, slots, out, who, std::move(status));
}

}  // namespace headrace
