// concatenate: one dataset after the other.
#pragma once
#include "headrace/graph/verbs/verb.h"

namespace headrace {

struct Concatenate {
  static constexpr std::string_view verb = "concatenate", doc = "One dataset after the other.";
  static constexpr VerbFacts facts{.is_union = true};
  static constexpr std::tuple<> fields{};

  Status infer(Node& node) const;
  std::string details() const { return ""; }
};

}  // namespace headrace
