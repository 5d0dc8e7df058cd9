// mix: datasets by weights.
#pragma once
#include <memory>
#include <vector>

#include "headrace/core/random/mixture.h"
#include "headrace/graph/verbs/verb.h"

namespace headrace {

template <> struct EnumNames<MixStop> {
  static constexpr std::array<std::string_view, 3> names{"first_exhausted", "all_exhausted", "cycle"};
};

struct Mix {
  static constexpr std::string_view verb = "mix",
                                    doc = "Datasets mixed by weights that may change at given positions.";
  static constexpr VerbFacts facts{.is_union = true};
  std::vector<MixWeights> schedule;
  Seed seed = 0;
  MixStop stop = MixStop::first_exhausted;
  // Made by make_node(). Settled for these sizes; not settled when a size is unknown before the run.
  std::shared_ptr<const Mixture> order = nullptr;
  std::vector<uint64_t> sizes = {};
  uint64_t total = 0;
  static constexpr std::tuple fields{
      Member{"schedule", &Mix::schedule, "Positions from which weights hold, and the weights."},
      Member{"seed", &Mix::seed, "Of the order."}, Member{"stop", &Mix::stop, "When the mixture ends."}};

  Status infer(Node& node);
  std::string details() const;
};

}  // namespace headrace
