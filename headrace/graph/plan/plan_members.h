// The members that parts of a plan's JSON may have: a verb, a program, a step. An unknown key is an error.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "headrace/core/value.h"

namespace headrace {

Status check_members(const Value& value, std::string_view what, std::span<const std::string_view> required,
                     std::span<const std::string_view> optional);

// Checks the members of a node; an unknown verb is an error, too.
Status check_verb_members(const std::string& verb, const Value& node);

}  // namespace headrace
