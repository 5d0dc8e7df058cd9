// Kinds of nodes that join datasets or choose positions by arithmetic: zip, mix, choose, window, sample,
// sort_by. The contract of kinds in node.h holds for them.
//
// choose, sample and sort_by take a side input of numbers. It is the last input: a read of a source in
// memory with one field of scalars, which plans and fingerprints treat like any other data.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headrace/core/random/alias_table.h"
#include "headrace/core/random/choices.h"
#include "headrace/core/random/mixture.h"
#include "headrace/formats/source.h"

namespace headrace {

struct Node;

// Element i of every input, joined.
struct Zip {
  std::string structure;  // how inputs nest: as Schema::structure, a leaf is the ordinal of an input
  uint32_t ids = 0;       // the input whose sample ids random operators and with_ids use
};
struct Mix {
  std::vector<MixWeights> schedule;
  uint64_t seed = 0;
  MixStop stop = MixStop::first_exhausted;
  // Made by make_node(). Settled for these sizes; not settled when a size is unknown before the run.
  std::shared_ptr<const Mixture> order = nullptr;
  std::vector<uint64_t> sizes = {};
  uint64_t total = 0;
};
struct Choose {  // last input: the choices, int64
  MixStop stop = MixStop::first_exhausted;
  std::shared_ptr<const Choices> order = nullptr;  // made by make_node(), as in Mix
};
// Element k consists of the rows k·shift, k·shift + stride … of the input: `size` of them, fewer at the end.
struct Window {
  uint64_t size = 1, shift = 1, stride = 1;
  bool drop_last = false, ragged = false;
};
struct Draw {  // the verb "sample"; last input: the weights, float64
  uint64_t seed = 0;
  bool replacement = true;
  std::optional<uint64_t> count;
  std::shared_ptr<const AliasTable> table = nullptr;             // with replacement
  std::shared_ptr<const std::vector<double>> weights = nullptr;  // without
  SourcePtr made_of = nullptr;
};
struct SortBy {  // last input: the keys, numbers
  bool descending = false;
  std::shared_ptr<const std::vector<uint64_t>> order = nullptr;
  SourcePtr made_of = nullptr;
};

// Derive schema, sizes and random access, as make_node() does for every kind. REQUIRES: `kind` is that of
// `node`.
Status infer(Node& node, Zip& kind);
Status infer(Node& node, Mix& kind);
Status infer(Node& node, Choose& kind);
Status infer(Node& node, Window& kind);
Status infer(Node& node, Draw& kind);
Status infer(Node& node, SortBy& kind);
// Elements without fields have no rows and nothing to cache.
Status check_has_fields(const Node& node);

// Gives the node the common fields of its first `count` inputs; dimensions that differ become unknown.
// Rejects shards and inputs with other fields.
Status unite(Node& node, size_t count);

// The number of windows over `rows` rows.
uint64_t windows_of(const Window& window, uint64_t rows);

// Whether elements come from several datasets, each with its own order.
bool is_union(const Node& node);

}  // namespace headrace
