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

// The epoch below a repeat: iteration e, pass p.
inline uint64_t epoch_of_pass(uint64_t epoch, uint64_t times, uint64_t pass) {
  return (times == 0 ? epoch << 32 : epoch * times) + pass;
}

}  // namespace headrace
