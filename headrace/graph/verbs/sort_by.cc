#include "headrace/graph/verbs/sort_by.h"

#include <algorithm>
#include <numeric>

#include "headrace/graph/node.h"
#include "headrace/graph/verbs/inference.h"

namespace headrace {

Status SortBy::infer(Node& node) {
  HEADRACE_TRY(check_numbers(node, 2));
  inherit(node);
  if (!are_numbers_of(made_of, node)) {
    HEADRACE_ASSIGN(const std::vector<double> keys, numbers_of<double>(node, "keys"));
    for (size_t i = 0; i < keys.size(); ++i)
      if (keys[i] != keys[i])
        return invalid("keys must be numbers, got nan at " + std::to_string(i)).in_op("sort_by");
    std::vector<uint64_t> sorted(keys.size());
    std::iota(sorted.begin(), sorted.end(), uint64_t{0});
    std::ranges::stable_sort(
        sorted, [&](uint64_t a, uint64_t b) { return descending ? keys[b] < keys[a] : keys[a] < keys[b]; });
    order = std::make_shared<const std::vector<uint64_t>>(std::move(sorted));
    made_of = source_of_numbers(node);
  }
  return check_fixed_order(node, "keys", made_of->size());
}

}  // namespace headrace
