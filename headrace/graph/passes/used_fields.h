// Fields of a read that nobody looks at are not read: neither what is wrong with them nor their size matters.
//
// Not a rewrite, for a sample that fails is seen or not seen: with any rewrite switched off it must be the
// same.
#pragma once
#include "headrace/graph/node.h"

namespace headrace {

// The same plan, in which reads give only what the verbs above them look at, where their sources offer that
// (Source::with_fields). What a cache keeps, and unbatch takes apart, is looked at as a whole. REQUIRES:
// numbered, caches with their keys.
NodePtr with_used_fields(const NodePtr& root);

}  // namespace headrace
