// Plans as JSON: the kinds of order_kinds.h.
#pragma once
#include <optional>
#include <string>

#include "headrace/core/value.h"
#include "headrace/graph/node.h"

namespace headrace {

// The kind that a verb of a plan means; nothing for verbs that stand in plan_json.cc.
Result<std::optional<Kind>> order_kind_from(const std::string& verb, const Value& value);

}  // namespace headrace
