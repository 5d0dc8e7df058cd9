// take_while: the elements before the first for which a predicate is false.
#pragma once
#include "headrace/graph/program.h"
#include "headrace/graph/verbs/verb.h"

namespace headrace {

struct TakeWhile {
  static constexpr std::string_view verb = "take_while",
                                    doc = "The elements before the first for which a predicate is false.";
  static constexpr VerbFacts facts{.drops_or_adds = true, .hands_on = true};
  Program program;
  static constexpr std::tuple fields{Member{"program", &TakeWhile::program, "The predicate: one bool ()."}};

  Status infer(Node& node) const;
  std::string details() const;
};

}  // namespace headrace
