#include "headrace/graph/verbs/assert_cardinality.h"

#include "headrace/graph/node.h"
#include "headrace/graph/verbs/inference.h"

namespace headrace {

Status AssertCardinality::infer(Node& node) const {
  inherit(node);
  if (node.input()->sharded && !node.total)
    return invalid({.expected = "the number of elements over all ranks, before shard()",
                    .got = "elements of one rank",
                    .fix = "put assert_cardinality() before shard(), or use shard(..., steps=)"})
        .in_op("assert_cardinality");
  if (node.total && *node.total != count)
    return invalid(
               {.expected = std::to_string(count) + " elements",
                .got = *node.total == kInfinite ? "a dataset that never ends" : std::to_string(*node.total)})
        .in_op("assert_cardinality");
  node.total = count;
  return {};
}

}  // namespace headrace
