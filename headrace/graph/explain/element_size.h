// Bytes per element of each node: from its shapes where they are known, from its inputs where the node only
// moves, joins or stacks elements, otherwise as measured by a callback.
#pragma once
#include <functional>
#include <map>
#include <optional>

#include "headrace/graph/node.h"

namespace headrace {

struct ElementSize {
  double bytes = 0;        // of a full element: the last batch may have fewer rows
  uint64_t looked_at = 0;  // `bytes` is the mean of that many elements; 0: it follows from shapes
};

// The size of a missing node is not known until data are read.
using ElementSizes = std::map<const Node*, ElementSize>;
// Called for nodes whose size cannot be derived.
using MeasureElements = std::function<std::optional<ElementSize>(const NodePtr&)>;

ElementSizes element_sizes(const NodePtr& root, const MeasureElements& measure = {});

// Rows of a full element, where it is a batch and their number is known.
std::optional<uint64_t> rows_of_element(const Node& node);

}  // namespace headrace
