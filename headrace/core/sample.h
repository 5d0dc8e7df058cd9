// A sample: an identity and its fields. A Schema names the fields, once per node instead of per sample.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "headrace/core/status.h"
#include "headrace/core/tensor.h"

namespace headrace {

// Which sample, and which appearance of it: the root of every random key; see docs/determinism.md.
struct SampleId {
  uint64_t index = 0;       // within its read
  uint64_t epoch = 0;       // the epoch it is drawn for
  uint32_t read = 0;        // ordinal of the read in the user's graph
  uint32_t occurrence = 0;  // how often the read was repeated before
  uint32_t child = 0;       // which output of unbatch / flat_map, from 1; 0 above them
  bool valid = true;        // false if shard(even="pad") added this appearance; in no key
  bool operator==(const SampleId&) const = default;
};

// Names and specs of the leaves, in order, and how they nest. `structure` is compact JSON in which each leaf
// is its ordinal: 0 for a bare tensor, {"image":0,"label":1} for a dict, [0,1] for a tuple.
struct Schema {
  std::vector<std::string> names;  // "image", "boxes/xyxy", "0"
  std::vector<TensorSpec> specs;
  std::string structure;

  size_t size() const { return names.size(); }
  int find(std::string_view name) const;  // -1 when absent
  bool operator==(const Schema&) const = default;
  std::string text() const;  // "image: uint8 (?, ?, 3), label: int64 ()"
  std::string stable_text()
      const;  // the same with short dtypes: for fingerprints and keys, never for messages

  // A flat dict of these fields.
  static Schema of(std::vector<std::string> names, std::vector<TensorSpec> specs);
};

struct Sample {
  SampleId id;  // identifies the sample to every random operator
  uint64_t shown_id =
      0;  // what the id field shows: read << 48 | index; after on_error("replace") another sample's
  std::vector<Tensor> fields;  // in the order of Schema::names
  // Set if the sample failed and an on_error("skip") comes later (until then it counts as an element), or if
  // the caller asked for failures (LoaderOptions::keep_failures).
  std::shared_ptr<const Status> failure;
};

}  // namespace headrace
