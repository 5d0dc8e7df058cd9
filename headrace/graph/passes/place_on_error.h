// Moves on_error to where it acts.
#pragma once
#include "headrace/graph/node.h"

namespace headrace {

// on_error covers each element on its own, samples below a batch as well as batches above it: it acts where
// they are produced. Only samples are replaced by other samples. Not a rewrite: this is the meaning of
// on_error.
Result<NodePtr> place_on_error(const NodePtr& root);

}  // namespace headrace
