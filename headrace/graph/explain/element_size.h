// How many bytes an element of each node has: by its shapes where they are known, by those below it where it
// only moves, joins or stacks what comes, else as somebody measures it.
#pragma once
#include <functional>
#include <map>
#include <optional>

#include "headrace/graph/node.h"

namespace headrace {

struct ElementSize {
  double bytes = 0;        // of a whole one: the last batch may have fewer rows
  uint64_t looked_at = 0;  // elements whose mean this is; 0: it follows from shapes
};

// Those that are missing are not known until data are read.
using ElementSizes = std::map<const Node*, ElementSize>;
// Asked for nodes whose size does not follow from anything.
using MeasureElements = std::function<std::optional<ElementSize>(const NodePtr&)>;

ElementSizes element_sizes(const NodePtr& root, const MeasureElements& measure = {});

// Rows of a whole element, where it is a batch and they are known.
std::optional<uint64_t> rows_of_element(const Node& node);

}  // namespace headrace
