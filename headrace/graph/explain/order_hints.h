// Hints about the order of operations: work on data of which what follows keeps only a part. Judged by what
// operators declare (ops/op.h) and by dtypes and shapes; where those are not known before the run, by what a
// run measured, or not at all.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "headrace/graph/node.h"

namespace headrace {

// Of an operator, by its ordinal: means over its calls.
struct OperatorCost {
  uint64_t calls = 0;
  double cpu_s = 0, bytes = 0;  // a call; of its outputs
};

// One line each, with both operators and the user's lines. `measured`: by ordinal; empty before a run.
std::vector<std::string> order_hints(const NodePtr& plan, std::span<const OperatorCost> measured = {});

}  // namespace headrace
