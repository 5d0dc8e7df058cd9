#include "headrace/graph/verbs/shuffle.h"

#include "headrace/graph/in_order.h"
#include "headrace/graph/node.h"
#include "headrace/graph/verbs/inference.h"

namespace headrace {

Status Shuffle::infer(Node& node) const {
  inherit(node);
  constexpr uint64_t kMost = uint64_t{1} << 62;
  if (window > kMost || blocks > kMost)
    return invalid("window= and blocks= must be at most 2^62").in_op("shuffle");
  if (window > 0 && blocks > 0)
    return invalid({.expected = "window= or blocks=",
                    .got = "both: one is for streams, the other for datasets with random access"})
        .in_op("shuffle");
  if (window > 0) {
    end_random_access(node);
    return {};
  }
  if (!node.indexed || !node.total)
    return invalid(
               "a global shuffle needs random access and an exact length, which are lost after filter, "
               "unbatch, a window shuffle, on_error(\"skip\"), verbs whose elements depend on earlier ones "
               "(scan, unique, take_while, pack …), from_generator, and a shard of shuffled files before "
               "interleave; shuffle before that, or shuffle with window=")
        .in_op("shuffle");
  if (blocks > 0) HEADRACE_TRY(check_in_order(*node.input()));
  if (*node.total == kInfinite)
    return invalid("cannot permute an endless dataset; shuffle before repeat, or use window=")
        .in_op("shuffle");
  if (*node.total > kMost) return invalid("cannot permute more than 2^62 elements").in_op("shuffle");
  return {};
}

std::string Shuffle::details() const {
  return "seed=" + std::to_string(seed) + (window ? ", window=" + std::to_string(window) : "") +
         (blocks ? ", blocks=" + std::to_string(blocks) : "") +
         (reshuffle_each_epoch ? "" : ", reshuffle_each_epoch=False");
}

}  // namespace headrace
