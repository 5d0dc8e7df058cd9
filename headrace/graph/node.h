// A dataset is an immutable tree of Nodes. The kinds are a closed set, one verb a file in verbs/: every pass
// handles each, which the compiler checks; operators are the open set and live in Programs. Only make_node()
// creates nodes: it checks, infers schema and size, and records the user's line. Nodes are shared between
// datasets and threads, always const.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "headrace/graph/verbs/assert_cardinality.h"
#include "headrace/graph/verbs/batch.h"
#include "headrace/graph/verbs/cache.h"
#include "headrace/graph/verbs/choose.h"
#include "headrace/graph/verbs/concatenate.h"
#include "headrace/graph/verbs/filter.h"
#include "headrace/graph/verbs/from_generator.h"
#include "headrace/graph/verbs/group_by.h"
#include "headrace/graph/verbs/interleave.h"
#include "headrace/graph/verbs/map.h"
#include "headrace/graph/verbs/mix.h"
#include "headrace/graph/verbs/on_error.h"
#include "headrace/graph/verbs/pack.h"
#include "headrace/graph/verbs/read.h"
#include "headrace/graph/verbs/reorder.h"
#include "headrace/graph/verbs/repeat.h"
#include "headrace/graph/verbs/sample.h"
#include "headrace/graph/verbs/scan.h"
#include "headrace/graph/verbs/select.h"
#include "headrace/graph/verbs/shard.h"
#include "headrace/graph/verbs/shuffle.h"
#include "headrace/graph/verbs/skip.h"
#include "headrace/graph/verbs/sort_by.h"
#include "headrace/graph/verbs/take.h"
#include "headrace/graph/verbs/take_while.h"
#include "headrace/graph/verbs/unbatch.h"
#include "headrace/graph/verbs/unique.h"
#include "headrace/graph/verbs/window.h"
#include "headrace/graph/verbs/zip.h"

namespace headrace {

using Kind = std::variant<Read, Map, Filter, Unbatch, Shuffle, Shard, Repeat, Take, Skip, Concatenate, Batch,
                          OnError, Generate, TakeWhile, Scan, Unique, Interleave, GroupBy, Pack, Cache, Zip,
                          Mix, Choose, Window, Draw, SortBy, Select, Reorder, AssertCardinality>;
std::string_view kind_name(const Kind& kind);  // the verb: "map", "concatenate"

// The program that runs on each element; null for verbs without.
Program* program_of(Kind& kind);
const Program* program_of(const Kind& kind);

struct Node {
  Kind kind;
  std::vector<NodePtr> inputs;
  Schema schema;                  // of the elements
  std::optional<uint64_t> size;   // elements per epoch on this rank; kInfinite; empty when unknown
  std::optional<uint64_t> total;  // the same over all ranks of `shard`
  std::optional<Shard> shard;     // the shard of this level, wherever it is in it
  bool sharded = false;           // a shard is here or below
  bool indexed = true;            // random access: no border (filter, unbatch, window, skip, scan …) below
  std::string made_at;            // "train.py:31"

  const NodePtr& input() const { return inputs[0]; }
  template <class K> const K* as() const { return std::get_if<K>(&kind); }
};

Result<NodePtr> make_node(Kind kind, std::vector<NodePtr> inputs, std::string made_at = "");

// A copy of the tree in which reads and operator steps carry their ordinals: depth first, inputs before the
// node. A node that is reached twice is counted twice. Done once, before any rewrite.
NodePtr number(const NodePtr& root);

// The same node over other inputs; schema and size are inferred again. REQUIRES: inputs have the same
// schemas.
NodePtr with_inputs(const Node& node, std::vector<NodePtr> inputs);

VerbFacts facts_of(const Node& node);
// Whether an element is made of several others: on_error then also covers the elements below on their own.
bool gathers(const Node& node);
// Whether it is a verb that only moves indices and knows all of them, so that it may be moved below a map.
bool moves_indices(const Node& node);
// Whether elements come from several inputs.
bool is_union(const Node& node);
// Inputs that elements come from; those after them are numbers or an order. REQUIRES: is_union(node).
size_t num_datasets(const Node& node);
// Whether how many elements come out depends on the data.
bool drops_or_adds(const Node& node);

// The program that passes every field on and adds an engine field (kIdField, kValidField) under `name`.
Result<Program> add_engine_field(const NodePtr& node, int field, std::string_view name);

// One line per node, inputs first: for explain().
std::string explain_tree(const NodePtr& root);

// What a state must match, "plan-data": the hash of the plan without rank, world, paths and lines, and that
// of the content of its sources.
std::string fingerprint(const NodePtr& root, uint64_t seed);

}  // namespace headrace
