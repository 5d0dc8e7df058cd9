#include "headrace/graph/verbs/select.h"

#include <algorithm>
#include <unordered_map>

#include "headrace/graph/node.h"
#include "headrace/graph/verbs/inference.h"

namespace headrace {

std::shared_ptr<const std::vector<uint32_t>> occurrences_of(const std::vector<uint64_t>& indices) {
  std::unordered_map<uint64_t, uint32_t> counts;
  counts.reserve(indices.size());
  std::vector<uint32_t> out;
  out.reserve(indices.size());
  for (const uint64_t index : indices) out.push_back(counts[index]++);
  if (counts.size() == indices.size()) return nullptr;
  return std::make_shared<const std::vector<uint32_t>>(std::move(out));
}

Status Select::infer(Node& node) {
  HEADRACE_TRY(check_numbers(node, 2));
  inherit(node);
  HEADRACE_ASSIGN(const uint64_t total, fixed_total(*node.input(), "select", "indices"));
  if (!are_numbers_of(made_of, node)) {
    HEADRACE_ASSIGN(const std::vector<int64_t> indices, numbers_of<int64_t>(node, "indices"));
    order = std::make_shared<const std::vector<uint64_t>>(indices.begin(), indices.end());
    occurrences = occurrences_of(*order);
    made_of = source_of_numbers(node);
  }
  const auto out = std::ranges::find_if(*order, [&](uint64_t index) { return index >= total; });
  if (out != order->end())
    return invalid(
               {.expected = "indices from 0 to below " + std::to_string(total) + ", the number of elements",
                .got = std::to_string(static_cast<int64_t>(*out)) + " at position " +
                       std::to_string(out - order->begin())})
        .in_op("select");
  node.total = order->size();
  return {};
}

std::string Select::details() const { return std::to_string(order ? order->size() : 0) + " indices"; }

}  // namespace headrace
