// sample: elements drawn by weights.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "headrace/core/random/alias_table.h"
#include "headrace/graph/verbs/verb.h"

namespace headrace {

struct Draw {  // last input: the weights, float64
  static constexpr std::string_view
      verb = "sample",
      doc = "Elements drawn by weights, others each epoch; the last input holds the weights.";
  static constexpr VerbFacts facts{
      .moves_indices = true, .hands_on = true, .jumps = true, .reorders = true, .counts = true};
  Seed seed = 0;
  bool replacement = true;
  std::optional<uint64_t> count;
  std::shared_ptr<const AliasTable> table = nullptr;             // with replacement
  std::shared_ptr<const std::vector<double>> weights = nullptr;  // without
  SourcePtr made_of = nullptr;
  static constexpr std::tuple fields{
      Member{"seed", &Draw::seed, "Added to the seed of the run."},
      Member{"replacement", &Draw::replacement, "Whether an element may be drawn more than once.",
             Presence::optional},
      Member{"num", &Draw::count, "Elements of an epoch; as many as there are without it.",
             Presence::if_changed}};

  Status infer(Node& node);
  std::string details() const;
};

}  // namespace headrace
