// assert_cardinality: the number of elements of an epoch, which the user knows.
#pragma once
#include "headrace/graph/verbs/verb.h"

namespace headrace {

struct AssertCardinality {
  static constexpr std::string_view verb = "assert_cardinality",
                                    doc =
                                        "The same elements; an epoch with another number of them is an "
                                        "error.";
  static constexpr VerbFacts facts{.moves_indices = true, .hands_on = true};
  uint64_t count = 0;
  static constexpr std::tuple fields{
      Member{"count", &AssertCardinality::count, "Number of elements of an epoch."}};

  Status infer(Node& node) const;
  std::string details() const { return std::to_string(count); }
};

}  // namespace headrace
