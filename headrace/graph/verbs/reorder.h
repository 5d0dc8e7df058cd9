// reorder: the elements at positions that a user's function or sampler gives for each epoch.
#pragma once
#include "headrace/graph/epoch_order.h"
#include "headrace/graph/verbs/verb.h"

namespace headrace {

struct Reorder {
  static constexpr std::string_view verb = "reorder",
                                    doc =
                                        "The elements at the positions that a function or a sampler of the "
                                        "user gives for each epoch.";
  static constexpr VerbFacts facts{
      .moves_indices = true, .hands_on = true, .jumps = true, .reorders = true, .counts = true};
  EpochOrderPtr order;
  static constexpr std::tuple fields{
      Member{"order", &Reorder::order, "The slot of the function or sampler, and its positions an epoch."}};

  Status infer(Node& node) const;
  std::string details() const;
};

}  // namespace headrace
