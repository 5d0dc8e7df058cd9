// Moves filters before work they do not depend on: a map below a filter is split in two, with the filter in
// between, so that dropped samples are computed only as far as the filter needs.
//
// Not a rewrite: it decides whether a failing step is reported, so it must also apply with every rewrite
// switched off.
#pragma once
#include "headrace/graph/node.h"

namespace headrace {

// filter(p, map(f, x)) -> map(f's other steps, filter(p, map(the steps that p needs, x))), through verbs that
// only move indices. REQUIRES: numbered; steps keep their ordinals.
NodePtr filters_first(const NodePtr& root);

}  // namespace headrace
