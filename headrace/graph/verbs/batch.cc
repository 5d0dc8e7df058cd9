#include "headrace/graph/verbs/batch.h"

#include "headrace/graph/node.h"
#include "headrace/graph/verbs/inference.h"

namespace headrace {

Status Batch::infer(Node& node) const {
  inherit(node);
  if (size > (uint64_t{1} << 31))
    return invalid("size must be at most 2^31, got " + std::to_string(size)).in_op("batch");
  if (size < 1) return invalid("size must be at least 1, got " + std::to_string(size)).in_op("batch");
  HEADRACE_TRY(batch_rows(node, *this, drop_last ? static_cast<int64_t>(size) : kAny));
  // Each rank has its own order of batches.
  Size rows = rows_of_rank(node);
  if (rows && *rows != kInfinite) rows = drop_last ? *rows / size : (*rows + size - 1) / size;
  node.total = rows;
  node.shard.reset();
  return {};
}

std::string Batch::rows_details() const {
  std::string out;
  if (padding) {
    std::string shapes;
    for (const Shape& shape : padding->shapes) shapes += (shapes.empty() ? "" : ", ") + shape.text();
    out = ", padded to " + shapes;
  }
  return out + (drop_last ? ", drop_last" : "") + (ragged ? ", ragged" : "");
}

}  // namespace headrace
