#include "headrace/graph/verbs/mix.h"

#include "headrace/graph/node.h"
#include "headrace/graph/verbs/inference.h"

namespace headrace {
namespace {

std::string weights_text(const MixWeights& step, bool alone) {
  std::string out = alone ? "" : std::to_string(step.from) + ": ";
  for (const double& weight : step.weights)
    out += (&weight == step.weights.data() ? "[" : ", ") + Value(weight).dump();
  return out + "]";
}

}  // namespace

Status Mix::infer(Node& node) {
  HEADRACE_TRY(unite(node, node.inputs.size()));
  for (const MixWeights& step : schedule)
    if (step.weights.size() != node.inputs.size())
      return invalid(
                 {.expected = "a weight for each of the " + std::to_string(node.inputs.size()) + " datasets",
                  .got = std::to_string(step.weights.size())})
          .in_op("mix");
  const auto totals = totals_of(node, node.inputs.size());
  if (totals && stop == MixStop::cycle)
    for (size_t i = 0; i < totals->size(); ++i)
      if ((*totals)[i] == 0)
        return invalid("dataset " + std::to_string(i) + " is empty and cannot be repeated").in_op("mix");
  const bool as_before = order && totals && sizes == *totals;  // the same order over other inputs
  if (!as_before) {
    HEADRACE_ASSIGN(Mixture made, Mixture::make(schedule, seed));
    sizes = totals.value_or(std::vector<uint64_t>());
    total = totals ? made.settle(stop, *totals) : 0;
    order = std::make_shared<const Mixture>(std::move(made));
  }
  node.total = totals ? Size(total) : Size();
  return {};
}

std::string Mix::details() const {
  std::string out;
  for (const MixWeights& step : schedule)
    out += (out.empty() ? "" : ", ") + weights_text(step, schedule.size() == 1);
  return out + ", seed=" + std::to_string(seed) +
         ", stop=" + std::string(EnumNames<MixStop>::names[static_cast<size_t>(stop)]);
}

}  // namespace headrace
