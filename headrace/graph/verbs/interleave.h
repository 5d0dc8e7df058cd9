// interleave: datasets take turns.
#pragma once
#include "headrace/graph/verbs/verb.h"

namespace headrace {

// `cycle` inputs at a time take turns, `block` elements each; one that has ended is replaced by the next.
// With `ordered`, the last input is their order in each epoch: order verbs over the numbers of the others
// (file_order.h).
struct Interleave {
  static constexpr std::string_view verb = "interleave",
                                    doc = "Datasets take turns; one that has ended is replaced by the next.";
  static constexpr VerbFacts facts{.is_union = true};
  uint64_t cycle = 1, block = 1;
  bool ordered = false;
  static constexpr std::tuple fields{
      Member{"cycle", &Interleave::cycle, "Datasets that take turns."},
      Member{"block", &Interleave::block, "Elements of a turn."},
      Member{"ordered", &Interleave::ordered,
             "The last input is the order of the others in each epoch: verbs that move indices, such as "
             "shuffle and shard, over their numbers.",
             Presence::if_changed}};

  Status infer(Node& node) const;
  std::string details() const;
  size_t num_datasets(const Node& node) const;
  // Whether all datasets have random access and a length, so that the samples of each rank can be counted.
  bool reads_are_indexed(const Node& node) const;

 private:
  Status infer_ordered(Node& node) const;
};

}  // namespace headrace
