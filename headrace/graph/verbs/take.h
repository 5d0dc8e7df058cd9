// take: the first elements.
#pragma once
#include "headrace/graph/verbs/verb.h"

namespace headrace {

struct Take {
  static constexpr std::string_view verb = "take", doc = "The first elements of an epoch.";
  static constexpr VerbFacts facts{.moves_indices = true, .hands_on = true, .counts = true};
  uint64_t count = 0;
  static constexpr std::tuple fields{Member{"count", &Take::count, "Number of elements."}};

  Status infer(Node& node) const;
  std::string details() const;
};

}  // namespace headrace
