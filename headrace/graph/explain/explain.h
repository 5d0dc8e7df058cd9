// Plans for people: each node in a few lines of at most 100 columns, and what changed between two plans.
#pragma once
#include <string>
#include <vector>

#include "headrace/graph/explain/element_size.h"

namespace headrace {

// The nodes, inputs before who stands on them: the verb with its parameters, then the elements it gives. With
// `sizes` it says how large these are, or that this is not known. Parameters that are the operator's defaults
// are left out.
std::vector<std::string> explain_nodes(const NodePtr& root, const ElementSizes* sizes = nullptr);

// The nodes of `before` that are not in `after`, marked by -, and those that are new, by +, in their order.
std::string explain_change(const NodePtr& before, const NodePtr& after);

// `text` broken between words into lines of at most 100 columns, each after `indent`.
std::string wrapped(const std::string& text, const std::string& indent);

}  // namespace headrace
