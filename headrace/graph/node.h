// A dataset is an immutable tree of Nodes. The kinds are a closed set: every pass handles each, and the
// compiler says so; operators are the open set and live in Programs. make_node() is the only maker: it
// checks, infers schema and size, and remembers the user's line. Nodes are shared between datasets and
// threads, always const.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "headrace/formats/generator.h"
#include "headrace/formats/source.h"
#include "headrace/graph/order_kinds.h"
#include "headrace/graph/padding.h"
#include "headrace/graph/program.h"

namespace headrace {

class MemoryCaches;
struct Node;
using NodePtr = std::shared_ptr<const Node>;

enum class Even : uint8_t { wrap, drop, pad };
enum class OnErrorPolicy : uint8_t { raise, skip, replace };

struct Read {
  SourcePtr source;
  uint32_t ordinal = 0;
  bool is_narrowed = false;  // `source` gives only what is looked at (used_fields.h)
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
// A state that goes from element to element. The program's inputs are the state's leaves, then the element's
// fields; its outputs the state's leaves, then the new element's.
struct Scan {
  Program program;
  std::vector<Tensor> initial;
  std::string structure;  // of the new element
};
struct Unique {
  Program program;  // the key: elements whose outputs are those of an earlier one are left out
};
struct Unbatch {};  // rows become samples; fields of rank 0 are repeated for each
struct Shuffle {
  uint64_t seed = 0, window = 0;  // window 0: all of it, by permutation
  uint64_t blocks = 0;            // other than 0: blocks of the data, then the samples of so many
};
struct Shard {
  uint32_t rank = 0, world = 1;
  Even even = Even::wrap;
  std::optional<uint64_t> steps;
};
struct Repeat {
  uint64_t times = 0;
};  // 0: for ever
struct Take {
  uint64_t count = 0;
};
struct Skip {
  uint64_t count = 0;
};
struct Concatenate {};
// `cycle` inputs at a time take turns of `block` elements; one that has ended makes room for the next input.
struct Interleave {
  uint64_t cycle = 1, block = 1;
};
struct Batch {
  uint64_t size = 1;
  bool drop_last = false, ragged = false;
  std::optional<Padding> padding = std::nullopt;
};
// Batches of elements that have something in common: bucket_by_length, group_by_window.
struct GroupBy {
  Program program;         // one integer (): the element's length, or the key of its group
  bool by_length = false;  // groups are those between `boundaries`, else each key is one
  std::vector<int64_t>
      boundaries;               // group i holds the lengths below boundaries[i], and not below the one before
  std::vector<uint64_t> sizes;  // elements of a batch, one number a group or one for all; or
  uint64_t token_budget = 0;    // most of (elements × longest length) of a batch
  bool pad_to_boundary = false;  // rows are padded to the longest that the group may hold
  Batch batch;                   // how rows become one; its size is not used
};
enum class PackStrategy : uint8_t { first_fit, best_fit, concat_and_split };
// Sequences side by side in rows of fixed lengths, with segment ids and positions.
struct Pack {
  PackStrategy strategy = PackStrategy::first_fit;
  std::vector<int> fields;        // that are packed; others are left out
  std::vector<uint64_t> lengths;  // of a row, one a field
  std::vector<Value> fill;        // one a field
  uint64_t bins = 1;              // rows that are filled at the same time
  uint64_t most = 0;              // sequences of a row; 0: any number
  bool drop_last = false;         // leave out rows that are not full at the end (concat_and_split)
};
// Elements are made once, as in epoch 0, and kept by what they were made of.
struct Cache {
  std::string path;         // a folder; "": in memory
  uint64_t max_memory = 0;  // bytes; 0: half of what the process may use
  std::string version;  // of the user's functions below, for files: another one sees none of the old elements
  std::shared_ptr<MemoryCaches> memory = nullptr;  // filled in by make_node
  std::string key = "";                            // what decides the elements; filled in when it is lowered
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

inline constexpr uint64_t kInfinite = ~uint64_t{0};

struct Node {
  Kind kind;
  std::vector<NodePtr> inputs;
  Schema schema;                 // of the elements
  std::optional<uint64_t> size;  // elements an epoch on this rank; kInfinite; nothing when it cannot be known
  std::optional<uint64_t> total;  // the same over all ranks of `shard`
  std::optional<Shard> shard;     // the shard that deals this level, wherever it stands in it
  bool sharded = false;           // a shard stands here or below
  bool indexed = true;            // random access: no border (filter, unbatch, window, skip, scan …) below
  std::string made_at;            // "train.py:31"

  const NodePtr& input() const { return inputs[0]; }
  template <class K> const K* as() const { return std::get_if<K>(&kind); }
};

Result<NodePtr> make_node(Kind kind, std::vector<NodePtr> inputs, std::string made_at = "");

// A copy of the tree in which reads and operator steps carry their ordinals: depth first, inputs before the
// node. A node reached twice counts twice. Done once, before any rewrite.
NodePtr number(const NodePtr& root);

// The same node over other inputs; schema and size are inferred again. REQUIRES: inputs of the same schemas.
NodePtr with_inputs(const Node& node, std::vector<NodePtr> inputs);

// Whether its elements are made of several: on_error covers what lies below for itself.
bool gathers(const Node& node);

// What the program of a scan takes: the state's leaves, named "state/…", then the element's.
Schema scan_schema(std::span<const Tensor> initial, const Schema& element);

// Whether it is a verb that only moves indices and knows all of them, so that it may as well stand below a
// map.
bool moves_indices(const Node& node);

// Elements of one rank of a shard over `total` elements, the first `base` consumed.
uint64_t shard_size(const Shard& shard, uint64_t total, uint64_t base = 0);

// The program that passes every field on and adds one that the engine knows (kIdField, kValidField) under
// `name`.
Result<Program> add_engine_field(const NodePtr& node, int field, std::string_view name);

// One line per node, deepest first indented: for explain().
std::string explain_tree(const NodePtr& root);

// What a state must agree with, "plan-data": the plan without rank, world, paths and lines; what its sources
// hold.
std::string fingerprint(const NodePtr& root, uint64_t seed);

}  // namespace headrace
