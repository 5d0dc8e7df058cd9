// sort_by: elements in the order of keys.
#pragma once
#include <memory>
#include <vector>

#include "headrace/graph/verbs/verb.h"

namespace headrace {

struct SortBy {  // last input: the keys, numbers
  static constexpr std::string_view verb = "sort_by",
                                    doc =
                                        "Elements in the order of their keys; the last input holds the keys.";
  static constexpr VerbFacts facts{.moves_indices = true, .hands_on = true, .jumps = true, .counts = true};
  bool descending = false;
  std::shared_ptr<const std::vector<uint64_t>> order = nullptr;
  SourcePtr made_of = nullptr;
  static constexpr std::tuple fields{
      Member{"descending", &SortBy::descending, "From the largest key to the smallest.", Presence::optional}};

  Status infer(Node& node);
  std::string details() const { return descending ? "descending" : ""; }
};

}  // namespace headrace
