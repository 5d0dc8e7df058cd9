// Rewrites turn plans into equivalent plans that run faster. Each is one file; the list in rewrites.cc is
// written out, in order.
//
// A rewrite never changes bytes, length, random access or the meaning of a state; rewrite() verifies schema
// and sizes after each and drops a result that violates this. Any rewrite can be switched off by name.
#pragma once
#include <set>
#include <string>
#include <vector>

#include "headrace/graph/node.h"

namespace headrace {

struct Rewrite {
  std::string_view name;  // "fuse_maps"
  std::string_view why;   // one line for explain()
  // Rewrites one node whose inputs are rewritten already; returns its argument when it does not match.
  NodePtr (*apply)(const NodePtr& node);
};
std::span<const Rewrite> rewrites();

struct Applied {
  std::string name;
  int times = 0;
  NodePtr before, after;
};

// REQUIRES: numbered. `off` holds the names that are switched off; "all" switches off everything.
NodePtr rewrite(NodePtr root, const std::set<std::string>& off, std::vector<Applied>* log = nullptr);

NodePtr sink_order_verbs(const NodePtr& node);
NodePtr fuse_maps(const NodePtr& node);
NodePtr fuse_decode_crop_resize_flip_normalize(const NodePtr& node);
NodePtr hoist_over_batch(const NodePtr& node);

}  // namespace headrace
