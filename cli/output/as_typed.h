// Options in messages and notes, rewritten from Python syntax to command line syntax.
#pragma once
#include <string>
#include <string_view>

#include "headrace/core/status.h"

namespace headrace::cli {

// nulls="zero" of a format becomes --option nulls=zero, fields=[…] becomes --option fields='["…"]', and
// format= becomes --format; for `convert`, which has two formats, options of the source become
// --source-option nulls=zero. Options that both formats may have are unchanged.
std::string as_typed(std::string_view text, bool converts = false);
// The same for an error. If a string was given for a list, the list with that string is appended.
std::string as_typed(const Status& status, bool converts = false);

}  // namespace headrace::cli
