// The members that parts of a plan's JSON may have: a verb, a program, a step. An unknown key is an error.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "headrace/core/value.h"

namespace headrace {

// Whether `value` is an object with all of `required` and, besides them, only some of `optional`. Messages
// begin with `what`.
Status check_members(const Value& value, std::string_view what, std::span<const std::string_view> required,
                     std::span<const std::string_view> optional);

}  // namespace headrace
