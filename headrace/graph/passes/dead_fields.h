// Removes fields that one map produces and a later one drops, with the steps that compute them.
//
// Not a rewrite: it decides whether a failing step is reported, so it must also apply with every rewrite
// switched off.
#pragma once
#include "headrace/graph/node.h"

namespace headrace {

// The program with only the outputs in `kept` (ascending), and without steps that compute only others.
Program with_outputs(const Program& program, const std::vector<int>& kept);

// The same plan, in which every map produces only what the maps after it, up to the next batch, filter or
// other border, use. REQUIRES: numbered; steps keep their ordinals.
NodePtr without_dead_fields(const NodePtr& root);

}  // namespace headrace
