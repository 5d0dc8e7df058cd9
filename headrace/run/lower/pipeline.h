// A Pipeline: a plan made ready to run. Lowering numbers the nodes, rewrites them, and turns what has random
// access into Levels and what has not into stages between streams. Also the arithmetic of states: what
// "consumed" means for it.
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "headrace/graph/rewrites/rewrites.h"
#include "headrace/run/engine/stage.h"
#include "headrace/run/measure/counters.h"

namespace headrace {

class LevelBody;

class PointIndex;

struct Pipeline {
  NodePtr plan;                       // numbered, rewritten
  std::vector<Applied> applied;       // what the rewrites did
  std::vector<ReportedOp> operators;  // by ordinal
  std::vector<std::shared_ptr<ElementCache>> caches;
  std::set<std::string> parts;         // operators that make only what their readers look at, for explain
  std::shared_ptr<PointIndex> points;  // of the JPEG files it decodes; null when none would help
  StreamPtr root;
  LevelBody* level = nullptr;  // the only stage's, when the whole plan has random access
  std::optional<Shard> shard;
  bool batched = false;   // elements are batches: rows count as samples
  bool may_wait = false;  // functions or generators of the user stand in it

  // Where an elastic state can be expressed as samples consumed over all ranks (see Elastic).
  struct Elastic {
    enum class Form : uint8_t { none, elements, batches } form = Form::none;
    uint64_t total = 0;  // N: positions of one pass over all ranks, at the level of the shard
    uint64_t times = 1;  // passes an epoch, for batches under a repeat; 0: for ever
    uint64_t unit = 1;   // samples an element of that level
    uint64_t batch = 1;  // rows a batch
    bool drop_last = false;
    uint64_t world = 1;
    Shard shard;
  } elastic;

  // Where not: whom a cursor fits, and whether the states of all ranks become one that fits any world.
  struct Sharing {
    enum class Whose : uint8_t { any, world, rank } whose = Whose::any;
    bool merges = false;   // ranks take inputs of their own; see deal.h
    std::string bound_by;  // the verb that forbids it
  } sharing;
};

// Adds caches of the run's own to a plan, which means the same with them.
class CachePlacer {
 public:
  virtual ~CachePlacer() = default;
  virtual NodePtr place(const NodePtr& plan) = 0;
};

// `point_memory`: bytes for entropy points that are found; 0: none are used. `read_block`: elements that a
// ticket shall hold at least where they are read and not batched; what comes out does not depend on it.
// `keep_failures`: see LoaderOptions.
Result<Pipeline> lower(const NodePtr& root, uint64_t seed, const std::set<std::string>& rewrites_off,
                       bool ordered, std::shared_ptr<Fetcher> fetcher, size_t point_memory = 0,
                       uint64_t read_block = 0, CachePlacer* caches = nullptr, bool keep_failures = false);

// Samples consumed over all ranks after `delivered` elements of an iteration that began at `from`.
uint64_t consumed_after(const Pipeline::Elastic& elastic, uint64_t from, uint64_t delivered);
// Elements of this rank before it: as many as are not left, so that all ranks of a new world come to an end.
uint64_t elements_before(const Pipeline::Elastic& elastic, uint64_t consumed);
// Whether nothing is left of the epoch.
bool is_finished(const Pipeline::Elastic& elastic, uint64_t consumed);
// Where a level begins to continue there.
void starts_at(const Pipeline::Elastic& elastic, uint64_t epoch, uint64_t consumed, Level::Start& outer,
               Level::Start& rows);

}  // namespace headrace
