// JSON as Python's json module writes it: with NaN, Infinity and -Infinity as numbers. Pure; any thread.
#pragma once
#include <string_view>

#include "headrace/core/value.h"

namespace headrace::zarr {

// In time linear in the text, whatever its content; depth at most 128, at most three million values. These
// three words become strings.
Result<Value> parse_json(std::string_view text);

}  // namespace headrace::zarr
