// Members of a plan's JSON, with messages that name the key.
#pragma once
#include <string>
#include <string_view>

#include "headrace/core/value.h"

namespace headrace {

inline Result<uint64_t> natural(const Value& v, std::string_view key) {
  HEADRACE_ASSIGN(const int64_t n, v.get_integer(key));
  if (n < 0)
    return invalid("json: '" + std::string(key) + "' must be a number of at least 0, got " +
                   std::to_string(n));
  return static_cast<uint64_t>(n);
}

}  // namespace headrace
