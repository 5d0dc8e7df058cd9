// repeat: several epochs.
#pragma once
#include "headrace/graph/verbs/verb.h"

namespace headrace {

struct Repeat {
  static constexpr std::string_view verb = "repeat", doc = "Several epochs, one after the other.";
  static constexpr VerbFacts facts{.moves_indices = true, .hands_on = true};
  uint64_t times = 0;  // 0: forever
  static constexpr std::tuple fields{Member{"times", &Repeat::times, "Number of epochs; 0: forever."}};

  Status infer(Node& node) const;
  std::string details() const;
};

}  // namespace headrace
