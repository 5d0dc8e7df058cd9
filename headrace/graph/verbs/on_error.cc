#include "headrace/graph/verbs/on_error.h"

#include "headrace/graph/node.h"
#include "headrace/graph/verbs/inference.h"

namespace headrace {

Status OnError::infer(Node& node) const {
  inherit(node);
  if (policy == OnErrorPolicy::skip) end_random_access(node, std::nullopt);
  if (policy == OnErrorPolicy::replace && !node.input()->indexed)
    return invalid("\"replace\" needs random access; put it before filter, unbatch and window shuffle")
        .in_op("on_error");
  return {};
}

std::string OnError::details() const {
  return std::string(EnumNames<OnErrorPolicy>::names[static_cast<size_t>(policy)]);
}

}  // namespace headrace
