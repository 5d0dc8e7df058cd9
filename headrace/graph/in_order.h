// Whether elements arrive in the order of the data, so that neighbours are stored together: needed by
// shuffle(blocks=).
#pragma once
#include "headrace/graph/node.h"

namespace headrace {

// Returns an error that names the verb that moves them.
Status check_in_order(const Node& node);

}  // namespace headrace
