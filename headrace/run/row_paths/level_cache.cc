// Elements of leaves with caches: taken from the outermost cache that has them, otherwise computed and
// stored.
#include <algorithm>

#include "headrace/core/cache/element_cache.h"
#include "headrace/run/element_cache/extra_cache.h"
#include "headrace/run/row_paths/level_body.h"

namespace headrace {
namespace {

const Schema& schema_after(const LeafPlan& leaf, size_t programs) {
  return programs == 0 ? leaf.incoming : leaf.programs[programs - 1].schema;
}

// Whether fields from a file match the schema of the plan.
bool fits(const Schema& schema, const std::vector<Tensor>& fields) {
  if (fields.size() != schema.size()) return false;
  for (size_t f = 0; f < fields.size(); ++f)
    if (!fields[f].is_ragged() && !schema.specs[f].admits({fields[f].dtype, fields[f].shape})) return false;
  return true;
}

}  // namespace

// Joined elements are taken as in epoch 0: the samples in a cached batch must not depend on when it was made.
Result<std::vector<Tensor>> LevelBody::incoming_fields(const LeafPlan& leaf, const Row& row,
                                                       Evaluator& evaluator) const {
  if (leaf.source) return source_fields(leaf, row, evaluator);
  Row first = row;
  first.at.epoch = 0, first.at.occurrence = 0, first.at.valid = true;
  if (leaf.rows) return gathered(*row.level, leaf, first.at, evaluator);
  return zipped_fields(leaf, first, evaluator);
}

// Gathers rows from a cache that holds them in their final form.
bool LevelBody::gather_cached(const Level& level, const Part& part, std::span<const MutView> slots) const {
  if (level.leaves.size() != 1) return false;
  const LeafPlan& leaf = level.leaves[0];
  if (leaf.caches.empty() || leaf.caches.back().covered != leaf.programs.size()) return false;
  std::vector<MutView> places;
  for (size_t f = 0; f < slots.size(); ++f) {
    const TensorSpec& row = level.schema.specs[f];
    if (!slots[f].data || !row.is_static()) return false;
    places.push_back({row.dtype, row.shape.with_front(static_cast<int64_t>(part.count)),
                      slots[f].data + part.first * row.size_bytes()});
  }
  std::vector<uint64_t> indices;
  for (const Position& at : part.at) indices.push_back(at.index);
  return leaf.caches.back().elements->gather(leaf.caches.back().leaf, indices, places);
}

namespace {

// Cached elements are computed whole, which may fail where computing only the needed part would not.
bool may_fail_more(const Status& status, const LeafPlan& leaf) {
  if (status.code() == Code::exhausted) return true;
  return is_data_error(status) && std::ranges::any_of(leaf.straight, [](const Program& program) {
           return std::ranges::any_of(program.steps,
                                      [](const Call& call) { return !call.part_readers.empty(); });
         });
}

}  // namespace

// As run_cached(), for a cache that the run added: it need not hold every element, and must not change
// results.
Status LevelBody::run_extra(const LeafPlan& leaf, const Row& row, Evaluator& evaluator,
                            std::span<const MutView> slots, std::span<Tensor> out,
                            const Identity& who) const {
  const std::span<const Program> programs = leaf.programs;
  const LeafPlan::Cached& cache = leaf.caches[0];
  const CacheKey key{cache.leaf, row.at.index};
  const Schema& schema = schema_after(leaf, cache.covered);
  auto& elements = static_cast<ExtraCache&>(*cache.elements);
  const auto rest = [&](const std::vector<Tensor>& kept) {
    evaluator.begin(cache.covered);
    return evaluator.run_or_pass(programs.subspan(cache.covered), schema, operands_of(kept), who, slots, out);
  };
  std::vector<Tensor> fields;
  // If there is no memory now, the row is tried again; if there is none at all, the cache releases its own.
  HEADRACE_ASSIGN(const bool is_there, elements.get(key, fields, evaluator.pool()));
  if (is_there && fits(schema, fields)) return rest(fields);
  HEADRACE_ASSIGN(fields, incoming_fields(leaf, row, evaluator));
  if (elements.wants(key)) {
    Identity always = identity_of(leaf, row.at);
    always.id.epoch = 0, always.id.occurrence = 0, always.id.valid = true;
    std::vector<Tensor> made(schema.size());
    evaluator.begin();
    const Status status = evaluator.run_or_pass(programs.first(cache.covered), leaf.incoming,
                                                operands_of(fields), always, {}, made);
    if (status.ok()) {
      HEADRACE_TRY(elements.put(key, made));
      return rest(made);
    }
    if (!may_fail_more(status, leaf)) return status;
  }
  evaluator.begin(programs.size() - leaf.straight.size());  // programs after the cache keep their numbers
  return evaluator.run_or_pass(leaf.straight, leaf.incoming, operands_of(fields), who, slots, out);
}

Status LevelBody::run_cached(const LeafPlan& leaf, const Row& row, Evaluator& evaluator,
                             std::span<const MutView> slots, std::span<Tensor> out,
                             const Identity& who) const {
  if (!leaf.straight.empty()) return run_extra(leaf, row, evaluator, slots, out, who);
  const std::span<const Program> programs = leaf.programs;
  std::vector<Tensor> fields;
  size_t next = leaf.caches.size();  // the first cache that does not have it
  for (; next > 0; --next) {
    const LeafPlan::Cached& cache = leaf.caches[next - 1];
    HEADRACE_ASSIGN(const bool is_there,
                    cache.elements->get({cache.leaf, row.at.index}, fields, evaluator.pool()));
    if (is_there && fits(schema_after(leaf, cache.covered), fields)) break;
  }
  if (next == 0) {
    HEADRACE_ASSIGN(fields, incoming_fields(leaf, row, evaluator));
  }
  // A cached element must not depend on the epoch or on the place it was made for.
  Identity always = identity_of(leaf, row.at);
  always.id.epoch = 0, always.id.occurrence = 0, always.id.valid = true;
  size_t done = next == 0 ? 0 : leaf.caches[next - 1].covered;
  for (; next < leaf.caches.size(); ++next) {
    const LeafPlan::Cached& cache = leaf.caches[next];
    std::vector<Tensor> made(schema_after(leaf, cache.covered).size());
    evaluator.begin(done);
    HEADRACE_TRY(evaluator.run_or_pass(programs.subspan(done, cache.covered - done), schema_after(leaf, done),
                                       operands_of(fields), always, {}, made));
    HEADRACE_TRY(cache.elements->put({cache.leaf, row.at.index}, made));
    fields = std::move(made);
    done = cache.covered;
  }
  evaluator.begin(done);
  return evaluator.run_or_pass(programs.subspan(done), schema_after(leaf, done), operands_of(fields), who,
                               slots, out);
}

}  // namespace headrace
