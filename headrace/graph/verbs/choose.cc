#include "headrace/graph/verbs/choose.h"

#include "headrace/graph/node.h"
#include "headrace/graph/verbs/inference.h"

namespace headrace {

Status Choose::infer(Node& node) {
  HEADRACE_TRY(check_numbers(node, 2));
  const size_t count = node.inputs.size() - 1;
  HEADRACE_TRY(unite(node, count));
  const auto totals = totals_of(node, count);
  HEADRACE_ASSIGN(const std::vector<int64_t> choices, numbers_of<int64_t>(node, "choices"));
  HEADRACE_ASSIGN(Choices made, Choices::make(choices, static_cast<uint32_t>(count)));
  node.total.reset();
  if (totals) {
    HEADRACE_ASSIGN(node.total, made.settle(stop, *totals));
  }
  order = std::make_shared<const Choices>(std::move(made));
  return {};
}

std::string Choose::details() const {
  return "stop=" + std::string(EnumNames<MixStop>::names[static_cast<size_t>(stop)]);
}

}  // namespace headrace
