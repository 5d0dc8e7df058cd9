// JSON as Python's module of that name writes it: NaN, Infinity and -Infinity may stand where numbers do.
// Pure; any thread.
#pragma once
#include <string_view>

#include "headrace/core/value.h"

namespace headrace::zarr {

// In time linear in the text, whatever it holds; depth at most 128, values at most three million. These three
// words become texts.
Result<Value> parse_json(std::string_view text);

}  // namespace headrace::zarr
