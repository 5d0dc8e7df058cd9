#include "headrace/run/state/merge.h"

#include <algorithm>
#include <set>

#include "headrace/run/state/iteration_state.h"

namespace headrace {
namespace {

constexpr size_t kShownRanks = 8;

Status check_alike(std::span<const Value> states, std::span<const IterationState> ranks) {
  const std::string& fingerprint = *states[0].find("fingerprint")->text();
  for (size_t i = 0; i < states.size(); ++i) {
    const IterationState& where = ranks[i];
    const std::string& theirs = *states[i].find("fingerprint")->text();
    if (theirs != fingerprint)
      return invalid({.expected = "states of one pipeline",
                      .got = "the fingerprints " + fingerprint + " and " + theirs})
          .in_op("merge_states");
    if (!where.bound_by.empty())
      return invalid("merge_states: " + why_not_merged(where.bound_by) +
                     "; a state of this pipeline only resumes with the same world size");
    const IterationState& first = ranks[0];
    if (where.order != first.order)
      return invalid({.expected = "states of one order",
                      .got = "other positions on rank " + std::to_string(i),
                      .fix = "the function or sampler of reorder() must depend on the epoch alone"})
          .in_op("merge_states");
    if (where.epoch != first.epoch || where.finished != first.finished || where.elastic != first.elastic ||
        where.consumed != first.consumed || where.delivered != first.delivered)
      return invalid({.expected = "states taken after the same number of elements",
                      .got = states[0].dump() + " and " + states[i].dump()})
          .in_op("merge_states");
  }
  return {};
}

// "none of rank 3, 5 of 8".
std::string missing_text(const std::set<uint32_t>& seen, uint32_t world) {
  std::string out = "none of rank ";
  size_t shown = 0;
  for (uint32_t rank = 0; rank < world && shown < kShownRanks; ++rank)
    if (!seen.contains(rank)) out += (shown++ == 0 ? "" : ", ") + std::to_string(rank);
  return out + (world - seen.size() > shown ? ", …" : "") + " of " + std::to_string(world);
}

// Checks that each rank of one world is there once, except states of outputs that all ranks share: those do
// not record their rank.
Status check_ranks(std::span<const IterationState> ranks) {
  const std::string wanted = "merge_states: expected the states of all ranks of one world, each once; got " +
                             std::to_string(ranks.size()) + " states, ";
  std::set<uint32_t> seen;
  std::optional<uint32_t> all;
  size_t unnamed = 0;
  for (const IterationState& where : ranks) {
    if (!where.rank && !where.world) {
      ++unnamed;
      continue;
    }
    const uint32_t world = where.world.value_or(0), rank = where.rank.value_or(0);
    const std::string which = "one of rank " + std::to_string(rank) + " of " + std::to_string(world);
    if (rank >= world) return invalid(wanted + which);
    if (all && *all != world)
      return invalid(wanted + which + " and one of a world of " + std::to_string(*all));
    if (!seen.insert(rank).second) return invalid(wanted + which + " twice");
    all = world;
  }
  if (!all || seen.size() + unnamed == *all) return {};
  if (seen.size() + unnamed > *all) return invalid(wanted + "more than the world of " + std::to_string(*all));
  return invalid(wanted + missing_text(seen, *all));
}

}  // namespace

std::string why_not_merged(const std::string& bound_by) {
  if (bound_by == "repeat") return "the passes of a repeat after the shard differ from rank to rank";
  if (bound_by == "shard") return "the shard itself is after a filter, unbatch, window shuffle or skip";
  if (bound_by == "shard(fixed=True)")
    return "with shard(fixed=True) each rank counts in its own part, and another world has other parts";
  if (bound_by == "deterministic=False") return "with deterministic=False elements come in no fixed order";
  return "only maps, filters, on_error, batches and one unbatch of samples may follow the shard, not '" +
         bound_by + "'";
}

Result<Value> merge_states(std::span<const Value> states) {
  if (states.empty())
    return invalid({.expected = "the states of all ranks", .got = "none"}).in_op("merge_states");
  std::vector<IterationState> ranks;
  for (const Value& state : states) {
    HEADRACE_ASSIGN(IterationState where, read_state(state));
    HEADRACE_TRY(check_sum(state));
    ranks.push_back(std::move(where));
  }
  HEADRACE_TRY(check_alike(states, ranks));
  const auto whole = [](const IterationState& where) { return !where.rank && !where.world; };
  if (std::all_of(ranks.begin(), ranks.end(), whole)) return states[0];  // fits every world already
  HEADRACE_TRY(check_ranks(ranks));
  IterationState merged{.epoch = ranks[0].epoch, .elastic = false, .delivered = ranks[0].delivered};
  merged.order = ranks[0].order;
  const std::string& fingerprint = *states[0].find("fingerprint")->text();
  const auto is_assigned = [](const IterationState& where) { return where.dealt.has_value(); };
  if (std::none_of(ranks.begin(), ranks.end(), is_assigned)) {
    merged.round = 1;  // the outputs that all share are handed out: every rank begins them again
    return state_to_value(merged, fingerprint, nullptr);
  }
  std::sort(ranks.begin(), ranks.end(),
            [](const IterationState& a, const IterationState& b) { return a.rank < b.rank; });
  std::vector<AssignmentPlace> places;
  for (const IterationState& where : ranks) {
    if (!where.dealt || !(where.dealt->deal == ranks[0].dealt->deal))
      return invalid({.expected = "states that continue one merged state", .got = "states of several"})
          .in_op("merge_states");
    places.push_back(*where.dealt);
  }
  merged.dealt = AssignmentPlace{merge_assignments(places), 0, {}};
  return state_to_value(merged, fingerprint, nullptr);
}

}  // namespace headrace
