// interleave: datasets take turns.
#pragma once
#include "headrace/graph/verbs/verb.h"

namespace headrace {

// `cycle` inputs at a time take turns, `block` elements each; one that has ended is replaced by the next.
struct Interleave {
  static constexpr std::string_view verb = "interleave",
                                    doc = "Datasets take turns; one that has ended is replaced by the next.";
  static constexpr VerbFacts facts{.is_union = true};
  uint64_t cycle = 1, block = 1;
  static constexpr std::tuple fields{Member{"cycle", &Interleave::cycle, "Datasets that take turns."},
                                     Member{"block", &Interleave::block, "Elements of a turn."}};

  Status infer(Node& node) const;
  std::string details() const;
};

}  // namespace headrace
