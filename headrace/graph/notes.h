// What explain() warns of: plans that mean something else than their authors may think.
#pragma once
#include <string>
#include <vector>

#include "headrace/graph/node.h"

namespace headrace {

// One line each, from the data to the end of the plan; none twice.
std::vector<std::string> notes(const NodePtr& plan);

// Whether elements are batches: what stands after batch() moves or changes them, unbatch() and pack() end
// them.
bool is_batched(const Node& node);

}  // namespace headrace
