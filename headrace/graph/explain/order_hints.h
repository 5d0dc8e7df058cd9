// Hints about the order of operations: work on data of which a later operation keeps only a part. Based on
// what operators declare (ops/op.h) and on dtypes and shapes; where those are unknown before the run, on
// measurements of a run, or no hint is given.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "headrace/graph/node.h"

namespace headrace {

// Costs of an operator, indexed by ordinal: means over its calls.
struct OperatorCost {
  uint64_t calls = 0;
  double cpu_s = 0, bytes = 0;  // per call; bytes of its outputs
};

// One line per hint, with both operators and the user's lines. `measured`: by ordinal; empty before a run.
std::vector<std::string> order_hints(const NodePtr& plan, std::span<const OperatorCost> measured = {});

}  // namespace headrace
