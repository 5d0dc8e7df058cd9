// shard: the part of one rank. It deals the order of its level, wherever it stands in it; a fixed one is
// arithmetic on the positions before it, as take is, and its part is the same in every epoch.
#pragma once
#include <optional>

#include "headrace/graph/verb_options.h"
#include "headrace/graph/verbs/verb.h"

namespace headrace {

template <> struct EnumNames<Even> {
  static constexpr std::array<std::string_view, 3> names{"wrap", "drop", "pad"};
};

template <> struct EnumNames<RanksOf> {
  static constexpr std::array<std::string_view, 1> names{"environment"};
};

struct Shard {
  static constexpr std::string_view verb = "shard",
                                    doc = "The part of one rank, with as many elements on every rank.";
  static constexpr VerbFacts facts{.moves_indices = true, .hands_on = true};
  // Where `ranks` is set, those that with_ranks() found last.
  uint32_t rank = 0, world = 1;
  Even even = Even::wrap;
  std::optional<uint64_t> steps;
  std::optional<RanksOf> ranks;
  uint32_t replicate = 1;
  bool fixed = false, contiguous = false;
  bool whole = false;
  static constexpr std::tuple fields{
      Member{"ranks", &Shard::ranks,
             "Rank and number of ranks are those of the process that loads or runs the plan.",
             Presence::if_changed},
      Member{"replicate", &Shard::replicate, "Consecutive ranks that get the same elements, of such ranks.",
             Presence::if_changed},
      Member{"rank", &Shard::rank, "This rank, from 0.", Presence::required, "", "ranks"},
      Member{"world", &Shard::world, "Number of ranks.", Presence::required, "", "ranks"},
      Member{"even", &Shard::even,
             "How ranks get as many elements: by repeating some, leaving some out, or by padding that is "
             "marked."},
      Member{"steps", &Shard::steps, "Elements of an epoch where the length is not known.",
             Presence::if_changed},
      Member{"fixed", &Shard::fixed, "A rank has the same elements in every epoch.", Presence::if_changed},
      Member{"contiguous", &Shard::contiguous,
             "A fixed part is one run of elements, instead of every element at a distance of `world`.",
             Presence::if_changed},
      Member{"whole", &Shard::whole,
             "Elements are files, of which some ranks get one more; `even` evens out the samples in them.",
             Presence::if_changed}};

  Status infer(Node& node) const;
  std::string details() const;
  // Whether it deals the order of its level: each epoch's anew.
  bool deals() const { return !fixed; }
};

// Elements of one rank of a shard over `total` elements, of which the first `base` are consumed.
uint64_t shard_size(const Shard& shard, uint64_t total, uint64_t base = 0);
// Those that only `rank` has, so that ranks have as many or one more.
uint64_t own_size(const Shard& shard, uint64_t total, uint32_t rank);

}  // namespace headrace
