// Data that a plan names by a slot: the bound data, checked against the plan.
#pragma once
#include <optional>
#include <string>

#include "headrace/formats/arrays/arrays.h"
#include "headrace/graph/plan/plan_json.h"

namespace headrace {

// The role of the last input of a verb, when it is a side input of numbers.
std::optional<Beside> beside_of(std::string_view verb);

// The data bound to the slot of a plan's "source". An error states what the slot expects and what was bound.
Result<SourcePtr> bound_source(const Value& described, const Bindings& bindings,
                               std::optional<Beside> beside);

}  // namespace headrace
