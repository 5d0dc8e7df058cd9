// For copying encoded images while finding broken ones.
#pragma once
#include "headrace/graph/node.h"

namespace headrace {

// The same samples; a sample fails if its image does not decode. Every field of bytes is checked: one that is
// not an image of a known format fails, too.
Result<NodePtr> with_checked_images(const NodePtr& data);

}  // namespace headrace
