// Where on_error acts.
#pragma once
#include "headrace/graph/node.h"

namespace headrace {

// on_error covers each element for itself, samples below a batch as well as batches above it: it acts where
// they are made. What takes the place of an element is looked for among samples alone. Not a rewrite: what it
// means.
Result<NodePtr> place_on_error(const NodePtr& root);

}  // namespace headrace
