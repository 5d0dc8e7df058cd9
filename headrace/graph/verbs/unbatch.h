// unbatch: rows become elements.
#pragma once
#include "headrace/graph/verbs/verb.h"

namespace headrace {

struct Unbatch {
  static constexpr std::string_view verb = "unbatch",
                                    doc = "Each row as an element; fields of rank 0 are repeated for each.";
  static constexpr VerbFacts facts{.drops_or_adds = true};
  static constexpr std::tuple<> fields{};

  Status infer(Node& node) const;
  std::string details() const { return ""; }
};

}  // namespace headrace
