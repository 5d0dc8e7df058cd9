// What a filter drops is made no further than the filter looks: a map below it is cut in two, and the filter
// stands between.
//
// Not a rewrite, for a step that fails is seen or not seen: with any rewrite switched off it must be the
// same.
#pragma once
#include "headrace/graph/node.h"

namespace headrace {

// filter(p, map(f, x)) -> map(f's other steps, filter(p, map(the steps that p needs, x))), through verbs that
// only move indices. REQUIRES: numbered; steps keep their ordinals.
NodePtr filters_first(const NodePtr& root);

}  // namespace headrace
