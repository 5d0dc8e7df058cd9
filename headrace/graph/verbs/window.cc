#include "headrace/graph/verbs/window.h"

#include "headrace/graph/node.h"
#include "headrace/graph/verbs/inference.h"

namespace headrace {

uint64_t windows_of(const Window& window, uint64_t rows) {
  if (rows == kInfinite) return kInfinite;
  const uint64_t span = (window.size - 1) * window.stride + 1;
  if (!window.drop_last) return rows / window.shift + (rows % window.shift != 0);
  return rows < span ? 0 : (rows - span) / window.shift + 1;
}

Status Window::infer(Node& node) const {
  if (node.inputs.size() != 1)
    return invalid({.expected = "one input", .got = std::to_string(node.inputs.size())}).in_op("window");
  inherit(node);
  HEADRACE_TRY(check_has_fields(node));
  constexpr uint64_t kMost = uint64_t{1} << 31;
  for (const auto& [name, value] : {std::pair{"size", size}, {"shift", shift}, {"stride", stride}})
    if (value < 1 || value > kMost)
      return invalid(std::string(name) + " must be from 1 to 2^31, got " + std::to_string(value))
          .in_op("window");
  for (TensorSpec& spec : node.schema.specs) {
    if (spec.shape.rank() == kMaxRank) return invalid("rank would exceed 8").in_op("window");
    spec.shape = spec.shape.with_front(drop_last ? static_cast<int64_t>(size) : kAny);
  }
  // Each rank has its own order of windows, as of batches.
  const Size rows = rows_of_rank(node);
  node.total = rows ? Size(windows_of(*this, *rows)) : Size();
  node.shard.reset();
  return {};
}

std::string Window::details() const {
  return std::to_string(size) + ", shift=" + std::to_string(shift) + ", stride=" + std::to_string(stride) +
         (drop_last ? ", drop_last" : "") + (ragged ? ", ragged" : "");
}

}  // namespace headrace
