// skip: all but the first elements.
#pragma once
#include "headrace/graph/verbs/verb.h"

namespace headrace {

struct Skip {
  static constexpr std::string_view verb = "skip", doc = "All but the first elements of an epoch.";
  static constexpr VerbFacts facts{.moves_indices = true, .hands_on = true, .counts = true};
  uint64_t count = 0;
  static constexpr std::tuple fields{Member{"count", &Skip::count, "Number of elements left out."}};

  Status infer(Node& node) const;
  std::string details() const;
};

}  // namespace headrace
