#include "headrace/run/state/state_cursor.h"

#include "headrace/run/state/merge.h"

namespace headrace {
namespace {

// The numbers of an assignment at the end of a cursor: see save_assignment.
constexpr size_t kFreshAssignment = 5;

// A cursor may belong to one rank, or to the ranks of one world.
Status check_rank(const IterationState& where, const Pipeline& pipeline) {
  const Shard mine = pipeline.shard.value_or(Shard{});
  if (where.finished || where.world.value_or(mine.world) == mine.world) {
    if (where.finished || where.rank.value_or(mine.rank) == mine.rank) return {};
  }
  const auto name = [](std::optional<uint32_t> rank, uint32_t world) {
    return (rank ? "rank " + std::to_string(*rank) + " of " : "a world of ") + std::to_string(world);
  };
  return invalid("belongs to " + name(where.rank, where.world.value_or(mine.world)) + ", but this is " +
                 name(mine.rank, mine.world) + "; " +
                 (where.bound_by.empty()
                      ? "merge_states() merges the states of all ranks into one for any world"
                      : "states of this pipeline cannot be merged: " + why_not_merged(where.bound_by)))
      .in_op("state");
}

}  // namespace

void put_rank(const Pipeline& pipeline, IterationState& out) {
  if (!pipeline.shard || pipeline.sharing.whose != Pipeline::Sharing::Whose::rank) return;
  out.rank = pipeline.shard->rank, out.world = pipeline.shard->world;
  out.bound_by = pipeline.sharing.bound_by;
}

void put_cursor(Cursor now, const Cursor& fresh, const Pipeline& pipeline, IterationState& out) {
  using Whose = Pipeline::Sharing::Whose;
  const Pipeline::Sharing& sharing = pipeline.sharing;
  out.cursor = std::move(now);
  if (!pipeline.shard) return;
  if (pipeline.shard->steps) out.round = out.cursor[1];
  if (sharing.whose != Whose::any || out.round > 0) out.world = pipeline.shard->world;
  if (sharing.whose == Whose::rank || out.round > 0) out.rank = pipeline.shard->rank;
  out.bound_by = sharing.bound_by;
  if (!sharing.merges) return;
  const Cursor deal(out.cursor.begin() + static_cast<std::ptrdiff_t>(fresh.size() - kFreshAssignment),
                    out.cursor.end());
  CursorReader reader(deal);
  out.dealt = restore_assignment(reader);
  out.dealt->round.number = out.round;
  out.cursor.clear();
}

Cursor cursor_of(const IterationState& where, const Cursor& fresh, const Pipeline& pipeline) {
  if (!where.dealt && where.round == 0) return where.cursor;
  if (!where.cursor.empty()) return where.cursor;
  Cursor out = fresh;
  if (where.dealt) {
    out.resize(fresh.size() - kFreshAssignment);
    save_assignment(*where.dealt, out);
  }
  if (pipeline.shard->steps) out[0] = where.delivered, out[1] = where.round;
  return out;
}

Status check_fits(const IterationState& where, const Pipeline& pipeline) {
  const Pipeline::Elastic& e = pipeline.elastic;
  const bool is_elastic = e.form != Pipeline::Elastic::Form::none;
  if (where.elastic && is_elastic && e.total != kInfinite && e.times != 0) {
    const uint64_t most = saturating_mul(saturating_mul(e.total, e.times), e.unit);
    if (where.consumed > most)
      return invalid("'consumed' is " + std::to_string(where.consumed) + ", but an epoch has " +
                     std::to_string(most))
          .in_op("state");
  }
  const bool begins = where.elastic && where.consumed == 0;  // the beginning of an epoch is the same for all
  if (where.elastic != is_elastic && !where.finished && !begins)
    return invalid(where.elastic
                       ? "state: was taken with deterministic=True, but this loader has deterministic=False"
                       : "state: was taken with deterministic=False, but this loader has deterministic=True");
  HEADRACE_TRY(check_rank(where, pipeline));
  const std::optional<uint64_t> steps = pipeline.shard ? pipeline.shard->steps : std::nullopt;
  const uint64_t most = steps.value_or(pipeline.plan->size.value_or(kInfinite));
  if (!where.finished && !where.elastic && where.delivered > most)
    return invalid({.expected = "at most " + std::to_string(most) + ", the elements of an epoch",
                    .got = std::to_string(where.delivered)})
        .in_option("delivered")
        .in_op("state");
  if (where.dealt)
    HEADRACE_TRY(check_assignment(*where.dealt, pipeline.dealt, pipeline.shard.value_or(Shard{})));
  const bool again = where.round > 0 && where.cursor.empty() && pipeline.shard && pipeline.shard->steps;
  const bool fits = pipeline.sharing.merges ? where.dealt.has_value() : again || !where.cursor.empty();
  if (!where.finished && !where.elastic && !fits)
    return invalid({.expected = std::string(pipeline.sharing.merges ? "'dealt'" : "'streams'") +
                                ", the position of this plan's verbs",
                    .got = where.dealt            ? "'dealt'"
                           : where.cursor.empty() ? "neither"
                                                  : "'streams'"})
        .in_op("state");
  return {};
}

}  // namespace headrace
