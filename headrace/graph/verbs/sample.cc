#include "headrace/graph/verbs/sample.h"

#include <algorithm>

#include "headrace/graph/node.h"
#include "headrace/graph/verbs/inference.h"

namespace headrace {

Status Draw::infer(Node& node) {
  HEADRACE_TRY(check_numbers(node, 2));
  inherit(node);
  if (!are_numbers_of(made_of, node)) {
    HEADRACE_ASSIGN(std::vector<double> numbers, numbers_of<double>(node, "weights"));
    HEADRACE_ASSIGN(AliasTable drawn, AliasTable::make(numbers));
    if (replacement)
      table = std::make_shared<const AliasTable>(std::move(drawn));
    else
      weights = std::make_shared<const std::vector<double>>(std::move(numbers));
    made_of = source_of_numbers(node);
  }
  HEADRACE_TRY(check_fixed_order(node, "weights", made_of->size()));
  node.total = count.value_or(made_of->size());
  if (replacement) return {};
  const auto drawable =
      static_cast<uint64_t>(std::ranges::count_if(*weights, [](double weight) { return weight > 0; }));
  if (count.value_or(0) > drawable)
    return invalid("num must be at most " + std::to_string(drawable) +
                   " without replacement, the number of elements with a weight above 0, got " +
                   std::to_string(*count))
        .in_op("sample");
  node.total = count.value_or(drawable);
  return {};
}

std::string Draw::details() const {
  return std::string(replacement ? "with" : "without") + " replacement" +
         (count ? ", num=" + std::to_string(*count) : "") + ", seed=" + std::to_string(seed);
}

}  // namespace headrace
