#include "headrace/graph/in_order.h"

#include <string>

namespace headrace {

Status check_in_order(const Node& node) {
  const bool keeps = node.as<Read>() || node.as<Map>() || node.as<OnError>() || node.as<Cache>() ||
                     node.as<Take>() || node.as<Skip>() || node.as<Shard>() || node.as<Concatenate>();
  if (!keeps)
    return invalid("blocks= needs samples in the order of the data, but " +
                   std::string(kind_name(node.kind)) + " before it " +
                   (node.as<Batch>() || node.as<Window>() || node.as<Zip>() ? "joins" : "moves") +
                   " them; shuffle before that, or without blocks=")
        .in_op("shuffle");
  const auto* shard = node.as<Shard>();
  if (shard && shard->fixed && !shard->contiguous && shard->world > 1)
    return invalid({.expected = "samples in the order of the data before blocks=",
                    .got = "shard(fixed=True), which takes one of every " + std::to_string(shard->world),
                    .fix = "use shard(fixed=True, contiguous=True), or shuffle without blocks="})
        .in_op("shuffle");
  for (const NodePtr& input : node.inputs) HEADRACE_TRY(check_in_order(*input));
  return {};
}

}  // namespace headrace
