// Whether elements come as they lie in the data, so that neighbours lie together: what shuffle(blocks=)
// wants.
#pragma once
#include "headrace/graph/node.h"

namespace headrace {

// An error that names the verb that moves them.
Status check_in_order(const Node& node);

}  // namespace headrace
