// Plans as JSON: the kinds of order_kinds.h.
#pragma once
#include <optional>
#include <string>

#include "headrace/core/value.h"
#include "headrace/graph/node.h"

namespace headrace {

// The kind for a verb of a plan; empty for verbs that plan_json.cc handles.
Result<std::optional<Kind>> order_kind_from(const std::string& verb, const Value& value);

}  // namespace headrace
