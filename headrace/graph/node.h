// A dataset is an immutable tree of Nodes. The kinds are a closed set: every pass handles each, which the
// compiler checks; operators are the open set and live in Programs. Only make_node() creates nodes: it
// checks, infers schema and size, and records the user's line. Nodes are shared between datasets and
// threads, always const.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "headrace/formats/generator.h"
#include "headrace/formats/source.h"
#include "headrace/graph/handles.h"
#include "headrace/graph/order_kinds.h"
#include "headrace/graph/padding.h"
#include "headrace/graph/program.h"
#include "headrace/graph/verb_options.h"

namespace headrace {

class MemoryCaches;

struct Read {
  SourcePtr source;
  uint32_t ordinal = 0;
  bool is_narrowed = false;  // `source` gives only the fields that are used (used_fields.h)
};
struct Generate {
  GeneratorPtr generator;
  uint32_t ordinal = 0;  // among the reads
};
struct Map {
  Program program;
};
struct Filter {
  Program predicate;
};  // one output: bool ()
struct TakeWhile {
  Program program;  // one output: bool ()
};
// A state that is carried from element to element. The program's inputs are the state's leaves, then the
// element's fields; its outputs are the state's leaves, then the new element's.
struct Scan {
  Program program;
  std::vector<Tensor> initial;
  std::string structure;  // of the new element
};
struct Unique {
  Program program;  // the key: elements whose key equals that of an earlier one are left out
};
struct Unbatch {};  // rows become samples; fields of rank 0 are repeated for each
struct Shuffle {
  uint64_t seed = 0, window = 0;  // window 0: all elements, by permutation
  uint64_t blocks = 0;  // other than 0: shuffles the blocks of the data, then the samples of every n blocks
};
struct Shard {
  uint32_t rank = 0, world = 1;
  Even even = Even::wrap;
  std::optional<uint64_t> steps;
};
struct Repeat {
  uint64_t times = 0;
};  // 0: forever
struct Take {
  uint64_t count = 0;
};
struct Skip {
  uint64_t count = 0;
};
struct Concatenate {};
// `cycle` inputs at a time take turns, `block` elements each; one that has ended is replaced by the next.
struct Interleave {
  uint64_t cycle = 1, block = 1;
};
struct Batch {
  uint64_t size = 1;
  bool drop_last = false, ragged = false;
  std::optional<Padding> padding = std::nullopt;
};
// Batches of elements of one group: bucket_by_length, group_by_window.
struct GroupBy {
  Program program;         // one integer (): the element's length, or the key of its group
  bool by_length = false;  // groups are the ranges between `boundaries`; otherwise each key is a group
  // Group i holds the lengths from boundaries[i - 1] on and below boundaries[i].
  std::vector<int64_t> boundaries;
  std::vector<uint64_t> sizes;   // elements of a batch, one number per group or one for all; or
  uint64_t token_budget = 0;     // maximum of (elements × longest length) of a batch
  bool pad_to_boundary = false;  // rows are padded to the longest that the group may hold
  Batch batch;                   // how rows become a batch; its size is not used
};
// Sequences packed one after another into rows of fixed lengths, with segment ids and positions.
struct Pack {
  PackStrategy strategy = PackStrategy::first_fit;
  std::vector<int> fields;        // the packed fields; others are left out
  std::vector<uint64_t> lengths;  // of a row, one per field
  std::vector<Value> fill;        // one per field
  uint64_t bins = 1;              // rows that are filled at the same time
  uint64_t most = 0;              // maximum number of sequences in a row; 0: no limit
  bool drop_last = false;         // leave out rows that are not full at the end (concat_and_split)
};
// Elements are computed once, as in epoch 0, and stored by the sample they come from.
struct Cache {
  std::string path;         // a folder; "": in memory
  uint64_t max_memory = 0;  // bytes; 0: half of what the process may use
  std::string version;  // of the user's functions below, for files: a new version ignores the old elements
  std::shared_ptr<MemoryCaches> memory = nullptr;  // filled in by make_node
  std::string key = "";  // identifies what determines the elements; filled in by lowering
};
struct OnError {
  OnErrorPolicy policy = OnErrorPolicy::raise;
};

using Kind = std::variant<Read, Map, Filter, Unbatch, Shuffle, Shard, Repeat, Take, Skip, Concatenate, Batch,
                          OnError, Generate, TakeWhile, Scan, Unique, Interleave, GroupBy, Pack, Cache, Zip,
                          Mix, Choose, Window, Draw, SortBy>;
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

// Whether an element is made of several others: on_error then also covers the elements below on their own.
bool gathers(const Node& node);

// The inputs of the program of a scan: the state's leaves, named "state/…", then the element's.
Schema scan_schema(std::span<const Tensor> initial, const Schema& element);

// Whether it is a verb that only moves indices and knows all of them, so that it may be moved below a map.
bool moves_indices(const Node& node);

// Elements of one rank of a shard over `total` elements, of which the first `base` are consumed.
uint64_t shard_size(const Shard& shard, uint64_t total, uint64_t base = 0);

// The program that passes every field on and adds an engine field (kIdField, kValidField) under `name`.
Result<Program> add_engine_field(const NodePtr& node, int field, std::string_view name);

// One line per node, inputs first: for explain().
std::string explain_tree(const NodePtr& root);

// What a state must match, "plan-data": the hash of the plan without rank, world, paths and lines, and that
// of the content of its sources.
std::string fingerprint(const NodePtr& root, uint64_t seed);

}  // namespace headrace
