// shuffle: another order each epoch.
#pragma once
#include "headrace/graph/verbs/verb.h"

namespace headrace {

struct Shuffle {
  static constexpr std::string_view
      verb = "shuffle",
      doc = "Another order each epoch: of all elements, of those in a window, or of the data's blocks.";
  static constexpr VerbFacts facts{.moves_indices = true};  // without a window, which ends random access
  Seed seed = 0;
  uint64_t window = 0;  // 0: all elements, by permutation
  uint64_t blocks = 0;  // other than 0: shuffles the blocks of the data, then the samples of every n blocks
  static constexpr std::tuple fields{
      Member{"seed", &Shuffle::seed, "Added to the seed of the run."},
      Member{"window", &Shuffle::window, "Elements that are held to draw from; 0: all, by permutation."},
      Member{"blocks", &Shuffle::blocks, "Blocks whose samples are shuffled together; 0: not by blocks.",
             Presence::if_changed}};

  Status infer(Node& node) const;
  std::string details() const;
};

}  // namespace headrace
