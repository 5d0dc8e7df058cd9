// filter: the elements for which a predicate is true.
#pragma once
#include "headrace/graph/program.h"
#include "headrace/graph/verbs/verb.h"

namespace headrace {

struct Filter {
  static constexpr std::string_view verb = "filter", doc = "The elements for which a predicate is true.";
  static constexpr VerbFacts facts{.drops_or_adds = true, .hands_on = true};
  Program program;
  static constexpr std::tuple fields{Member{"program", &Filter::program, "The predicate: one bool ()."}};

  Status infer(Node& node) const;
  std::string details() const;
};

}  // namespace headrace
