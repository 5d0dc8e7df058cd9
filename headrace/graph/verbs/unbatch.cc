#include "headrace/graph/verbs/unbatch.h"

#include "headrace/graph/node.h"
#include "headrace/graph/verbs/inference.h"

namespace headrace {

Status Unbatch::infer(Node& node) const {
  inherit(node);
  int64_t rows = kAny;
  bool any = false;
  for (size_t i = 0; i < node.schema.size(); ++i) {
    TensorSpec& spec = node.schema.specs[i];
    if (is_text(spec.dtype) ? spec.shape.rank() < 2 : spec.shape.rank() == 0) continue;
    any = true;
    const int64_t front = spec.shape[0];
    if (rows != kAny && front != kAny && rows != front)
      return invalid("field '" + node.schema.names[i] + "' has " + std::to_string(front) +
                     " rows, but another field has " + std::to_string(rows))
          .in_op("unbatch");
    if (front != kAny) rows = front;
    spec.shape = spec.shape.without_front();
  }
  if (!any)
    return invalid({.expected = "a field with rows", .got = node.input()->schema.text()}).in_op("unbatch");
  end_random_access(
      node, rows == kAny || !node.total ? Size() : multiply_sizes(*node.total, static_cast<uint64_t>(rows)));
  return {};
}

}  // namespace headrace
