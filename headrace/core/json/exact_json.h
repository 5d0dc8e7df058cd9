// JSON of plans and states, where a member that is there twice or a number that would wrap is an error. Data
// is read with Value::parse(), which takes both.
#pragma once
#include <string_view>

#include "headrace/core/value.h"

namespace headrace {

// As Value::parse(), but an object with two members of one name is an error, and so is an integer from 2^63
// on, unless it is a member "seed": seeds have 64 bits, and wrap in a Value as everywhere.
Result<Value> parse_exact(std::string_view json);

}  // namespace headrace
