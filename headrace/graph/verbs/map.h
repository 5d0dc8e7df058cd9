// map: operators on each element.
#pragma once
#include "headrace/graph/program.h"
#include "headrace/graph/verbs/verb.h"

namespace headrace {

struct Map {
  static constexpr std::string_view verb = "map",
                                    doc = "Each element replaced by what operators or a function make of it.";
  Program program;
  static constexpr std::tuple fields{
      Member{"program", &Map::program, "The operators; its outputs are the new element."}};

  Status infer(Node& node) const;
  std::string details(size_t indent) const;
};

}  // namespace headrace
