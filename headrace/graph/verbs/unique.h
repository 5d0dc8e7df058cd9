// unique: the elements whose key no earlier one has.
#pragma once
#include "headrace/graph/program.h"
#include "headrace/graph/verbs/verb.h"

namespace headrace {

struct Unique {
  static constexpr std::string_view verb = "unique", doc = "The elements whose key no earlier one has.";
  static constexpr VerbFacts facts{.drops_or_adds = true, .hands_on = true};
  Program program;
  static constexpr std::tuple fields{Member{"program", &Unique::program, "The key, of one or more fields."}};

  Status infer(Node& node) const;
  std::string details() const;
};

}  // namespace headrace
