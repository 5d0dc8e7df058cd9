// Data that a plan names by a slot and does not hold: what is bound there, once it is what the plan wants.
#pragma once
#include <optional>
#include <string>

#include "headrace/formats/arrays/arrays.h"
#include "headrace/graph/plan/plan_json.h"

namespace headrace {

// The role of the last input of a verb, when it is numbers beside the data.
std::optional<Beside> beside_of(std::string_view verb);

// What is bound to the slot of a plan's "source". An error says what the slot wants, and what came.
Result<SourcePtr> bound_source(const Value& described, const Bindings& bindings,
                               std::optional<Beside> beside);

}  // namespace headrace
