// A Pipeline: a plan lowered for execution. Lowering numbers the nodes, rewrites them, turns nodes with
// random access into Levels, and the others into stages between streams. Also the arithmetic of "consumed" in
// states.
#pragma once
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "headrace/graph/rewrites/rewrites.h"
#include "headrace/run/engine/stage.h"
#include "headrace/run/measure/counters.h"
#include "headrace/run/order/asked_orders.h"

namespace headrace {

class LevelBody;

class PointIndex;

struct Pipeline {
  NodePtr plan;                       // numbered, rewritten
  std::vector<Applied> applied;       // applied rewrites
  std::vector<ReportedOp> operators;  // by ordinal
  std::vector<std::shared_ptr<ElementCache>> caches;
  std::set<std::string> parts;          // operators that make only what their readers use, for explain
  std::shared_ptr<PointIndex> points;   // entropy points of the JPEG files it decodes; null if of no use
  std::shared_ptr<AskedOrders> orders;  // of the user, to ask before an epoch; null if there are none
  StreamPtr root;
  LevelBody* level = nullptr;  // the only stage's, when the whole plan has random access
  std::optional<Shard> shard;
  uint64_t dealt = kInfinite;  // inputs that a shard below a filter or an unbatch assigns; kInfinite: unknown
  bool batched = false;        // elements are batches: rows count as samples
  bool may_wait = false;       // it contains functions or generators of the user

  // Set if a state can be expressed as samples consumed over all ranks; of this one, behind a fixed shard.
  struct Elastic {
    enum class Form : uint8_t { none, elements, batches } form = Form::none;
    uint64_t total = 0;  // N: positions of one pass over all ranks, at the level of the shard
    uint64_t times = 1;  // passes per epoch, for batches under a repeat; 0: endless
    uint64_t unit = 1;   // samples per element of that level
    uint64_t batch = 1;  // rows per batch
    bool drop_last = false;
    uint64_t world = 1;
    Shard shard;
  } elastic;

  // Otherwise: which ranks a cursor fits, and whether the states of all ranks can be merged into one for any
  // world size.
  struct Sharing {
    enum class Whose : uint8_t { any, world, rank } whose = Whose::any;
    bool merges = false;   // each rank takes its own inputs; see streams/shard_assignment.h
    std::string bound_by;  // the verb that prevents it
  } sharing;
};

// Adds caches to a plan without changing its results.
class CachePlacer {
 public:
  virtual ~CachePlacer() = default;
  virtual NodePtr place(const NodePtr& plan) = 0;
};

struct LowerOptions {
  uint64_t seed = 0;
  std::set<std::string> rewrites_off = {};
  bool ordered = true;
  size_t point_memory = 0;        // bytes for entropy points that are found; 0: none are used
  uint64_t read_block = 0;        // minimum elements per ticket where they are read and not batched; results
                                  // do not depend on it
  CachePlacer* caches = nullptr;  // null: adds none
  bool keep_failures = false, fewest_fields = false;  // see LoaderOptions
};
Result<Pipeline> lower(const NodePtr& root, std::shared_ptr<Fetcher> fetcher, const LowerOptions& options);

// Samples consumed over all ranks after `delivered` elements of an iteration that began at `from`.
uint64_t consumed_after(const Pipeline::Elastic& elastic, uint64_t from, uint64_t delivered);
// Elements of this rank before that position: total minus the remaining ones, so that all ranks of a new
// world end at the same element.
uint64_t elements_before(const Pipeline::Elastic& elastic, uint64_t consumed);
// Whether nothing is left of the epoch.
bool is_finished(const Pipeline::Elastic& elastic, uint64_t consumed);
// Where levels begin when resuming there.
void starts_at(const Pipeline::Elastic& elastic, uint64_t epoch, uint64_t consumed, Level::Start& outer,
               Level::Start& rows);

}  // namespace headrace
