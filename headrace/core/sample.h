// A sample: an identity and its fields. A Schema names the fields, once per node and not per sample.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "headrace/core/status.h"
#include "headrace/core/tensor.h"

namespace headrace {

// Which sample, and which appearance of it. The root of every random key; see docs/determinism.md.
struct SampleId {
  uint64_t index = 0;       // within its read
  uint64_t epoch = 0;       // the epoch it is drawn for
  uint32_t read = 0;        // ordinal of the read in the user's graph
  uint32_t occurrence = 0;  // 0, or how often it was wrapped around
  uint32_t child = 0;       // which output of unbatch / flat_map, from 1; 0 above them
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
  std::string text() const;  // "image: u8 (?, ?, 3), label: i64 ()"

  // A flat dict of these fields.
  static Schema of(std::vector<std::string> names, std::vector<TensorSpec> specs);
};

struct Sample {
  SampleId id;  // names the sample to every random operator
  uint64_t shown_id =
      0;  // what the id field shows: read << 48 | index; another sample's after on_error("replace")
  std::vector<Tensor> fields;  // in the order of Schema::names
  // Set when making it failed and on_error("skip") stands further on, where it counts as an element until it
  // gets there; or where whoever runs the plan wants to hear of it (LoaderOptions::keep_failures).
  std::shared_ptr<const Status> failure;
};

}  // namespace headrace
