// Unused fields of a read are not read: neither damage in them nor their size matters.
//
// Not a rewrite: it decides whether damage is reported, so it must also apply with every rewrite switched
// off.
#pragma once
#include "headrace/graph/node.h"

namespace headrace {

// The same plan, in which reads give only the fields that the verbs above them use, where their sources
// support that (Source::with_fields). A cache and unbatch use all fields. REQUIRES: numbered, caches with
// their keys.
NodePtr with_used_fields(const NodePtr& root);

// The same, where only the number of elements matters: they have as few fields as possible, computed by as
// few steps. With an on_error it is the former, since the number may depend on what fails. REQUIRES: as
// above.
NodePtr with_fewest_fields(const NodePtr& root);

}  // namespace headrace
