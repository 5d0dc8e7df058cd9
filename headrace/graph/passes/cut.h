// A program in two: what answers the same in every epoch, and may be kept, and what follows it.
#pragma once
#include <vector>

#include "headrace/graph/program.h"

namespace headrace {

// Which steps give the same bytes for a sample whenever they run: neither they nor what they are made of
// draws, asks whether the sample only fills up a shard, or is a Python function that does not say so.
std::vector<bool> repeatable_steps(const Program& program);

struct Halves {
  Program first;   // its outputs are what the second one, or nobody but the consumer, wants of it
  Program second;  // over those
};
// compose(first, second) does what `program` does, and steps keep their ordinals. REQUIRES: kept[i] says of
// each step whether it is one of the first program, and what those are made of is kept, too.
Halves cut(const Program& program, const std::vector<bool>& kept);

}  // namespace headrace
