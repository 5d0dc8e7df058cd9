// Human-readable plans: each node in a few lines of at most 100 columns, and the difference of two plans.
#pragma once
#include <string>
#include <vector>

#include "headrace/graph/explain/element_size.h"

namespace headrace {

// The nodes, inputs first: the verb with its parameters, then the elements it produces; with `sizes` also how
// large these are, or that the size is unknown. Parameters that equal the operator's defaults are left out.
std::vector<std::string> explain_nodes(const NodePtr& root, const ElementSizes* sizes = nullptr);

// The nodes of `before` that are not in `after`, marked with -, and the new ones, marked with +, in order.
std::string explain_change(const NodePtr& before, const NodePtr& after);

// `text` wrapped at 100 columns, each line indented by `indent`.
std::string wrapped(const std::string& text, const std::string& indent);

}  // namespace headrace
