// The steps of a stage after making a sample, one link after the other.
#pragma once
#include <variant>
#include <vector>

#include "headrace/graph/program.h"

namespace headrace {

struct FilterLink {
  Program predicate;
};
struct UnbatchLink {
  Schema schema;
};  // of the incoming sample
struct SkipLink {};  // on_error("skip"): failed samples end here
struct KeyLink {
  Program program;
};  // appends its outputs to the sample, for the next verb
using Link = std::variant<std::vector<Program>, FilterLink, UnbatchLink, SkipLink, KeyLink>;

}  // namespace headrace
