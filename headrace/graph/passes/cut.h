// Splits a program in two: the part that gives the same result in every epoch and may be cached, and the
// rest.
#pragma once
#include <vector>

#include "headrace/graph/program.h"

namespace headrace {

// Which steps give the same bytes for a sample whenever they run: neither they nor their inputs draw random
// numbers, use the validity of the sample (kValidField), or are Python functions not declared pure.
std::vector<bool> repeatable_steps(const Program& program);

struct Halves {
  Program first;   // its outputs are the values that the second one or the consumer needs
  Program second;  // its inputs are those values
};
// compose(first, second) is equivalent to `program`, and steps keep their ordinals. REQUIRES: kept[i] is true
// for the steps of the first program; the inputs of kept steps are kept, too.
Halves cut(const Program& program, const std::vector<bool>& kept);

}  // namespace headrace
