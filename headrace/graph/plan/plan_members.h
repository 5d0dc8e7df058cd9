// The members that parts of a plan's JSON may have: a verb's, a program's, a step's. A key that nobody knows
// is a slip of whoever wrote it, and never passed over.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "headrace/core/value.h"

namespace headrace {

Status check_members(const Value& value, std::string_view what, std::span<const std::string_view> required,
                     std::span<const std::string_view> optional);

// Of a node; an error also when there is no such verb.
Status check_verb_members(const std::string& verb, const Value& node);

}  // namespace headrace
