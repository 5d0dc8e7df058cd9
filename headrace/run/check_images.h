// For copying encoded images and finding the broken ones on the way.
#pragma once
#include "headrace/graph/node.h"

namespace headrace {

// The same samples; one fails whose image does not decode. Every field of bytes is looked at: those that hold
// no image of a known kind fail too.
Result<NodePtr> with_checked_images(const NodePtr& data);

}  // namespace headrace
