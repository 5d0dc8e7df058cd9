// Fields that a map makes and a later one drops: neither they nor the steps behind them are made.
//
// Not a rewrite, for a step that fails is seen or not seen: with any rewrite switched off it must be the
// same.
#pragma once
#include "headrace/graph/node.h"

namespace headrace {

// The program without the outputs that are not in `kept`, ascending, and without the steps behind them.
Program with_outputs(const Program& program, const std::vector<int>& kept);

// The same plan, in which every map makes only what the maps after it, up to the next batch, filter or other
// border, look at. REQUIRES: numbered; steps keep their ordinals.
NodePtr without_dead_fields(const NodePtr& root);

}  // namespace headrace
