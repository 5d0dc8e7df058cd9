// shuffle: another order each epoch, or the same in all.
#pragma once
#include "headrace/graph/verbs/verb.h"

namespace headrace {

struct Shuffle {
  static constexpr std::string_view
      verb = "shuffle",
      doc = "Another order each epoch: of all elements, of those in a window, or of the data's blocks.";
  static constexpr VerbFacts facts{.moves_indices = true,
                                   .hands_on = true};  // without a window, which ends random access
  Seed seed = 0;
  uint64_t window = 0;  // 0: all elements, by permutation
  uint64_t blocks = 0;  // other than 0: shuffles the blocks of the data, then the samples of every n blocks
  bool reshuffle_each_epoch = true;
  static constexpr std::tuple fields{
      Member{"seed", &Shuffle::seed, "Determines the orders, alone."},
      Member{"window", &Shuffle::window, "Elements that are held to draw from; 0: all, by permutation."},
      Member{"blocks", &Shuffle::blocks, "Blocks whose samples are shuffled together; 0: not by blocks.",
             Presence::if_changed},
      Member{"reshuffle_each_epoch", &Shuffle::reshuffle_each_epoch,
             "Whether every epoch has an order of its own; false: all have that of epoch 0.",
             Presence::if_changed}};

  VerbFacts own_facts() const {
    VerbFacts out = facts;
    out.jumps = window == 0 && blocks == 0, out.counts = window == 0, out.reorders = reshuffle_each_epoch;
    return out;
  }
  Status infer(Node& node) const;
  std::string details() const;
  // Of the epoch whose order an epoch has.
  uint64_t epoch_of_order(uint64_t epoch) const { return reshuffle_each_epoch ? epoch : 0; }
};

}  // namespace headrace
