// Kinds of nodes that join datasets or choose positions by arithmetic: zip, mix, choose, window, sample,
// sort_by. What node.h says of kinds holds for them.
//
// choose, sample and sort_by take numbers beside the data. They are a last input: a read of a source in
// memory with one field of scalars, which plans and fingerprints treat as they do any other data.
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

// Element i of every input, side by side.
struct Zip {
  std::string structure;  // how inputs nest: as Schema::structure, a leaf is the ordinal of an input
  uint32_t ids = 0;       // the input whose samples name the elements to random operators and with_ids
};
struct Mix {
  std::vector<MixWeights> schedule;
  uint64_t seed = 0;
  MixStop stop = MixStop::first_exhausted;
  // Made by make_node(). Settled for these sizes; for none, when a size is not known before the run.
  std::shared_ptr<const Mixture> order = nullptr;
  std::vector<uint64_t> sizes = {};
  uint64_t total = 0;
};
struct Choose {  // last input: the choices, i64
  MixStop stop = MixStop::first_exhausted;
  std::shared_ptr<const Choices> order = nullptr;  // made by make_node(), as that of Mix
};
// Element k is of the rows k·shift, k·shift + stride … of the input: `size` of them, fewer at the end.
struct Window {
  uint64_t size = 1, shift = 1, stride = 1;
  bool drop_last = false, ragged = false;
};
struct Draw {  // the verb "sample"; last input: the weights, f64
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

// Fill in what follows from kind and inputs, as make_node() does for every kind; REQUIRES: `kind` is that of
// `node`.
Status infer(Node& node, Zip& kind);
Status infer(Node& node, Mix& kind);
Status infer(Node& node, Choose& kind);
Status infer(Node& node, Window& kind);
Status infer(Node& node, Draw& kind);
Status infer(Node& node, SortBy& kind);
// Elements without fields have no rows, and nothing that could be kept.
Status check_has_fields(const Node& node);

// Gives the node the fields that all its inputs (the first `count` of them) have, as wide as the widest.
// Refuses shards and other fields.
Status unite(Node& node, size_t count);

// Windows of so many rows.
uint64_t windows_of(const Window& window, uint64_t rows);

// Whether elements come from several datasets that have orders of their own.
bool is_union(const Node& node);

}  // namespace headrace
