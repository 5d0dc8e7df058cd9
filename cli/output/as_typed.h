// Options that a message spells as Python does, as the command line takes them.
#pragma once
#include <string>
#include <string_view>

namespace headrace::cli {

// nulls="zero" of a format becomes --option nulls=zero, fields=[…] --option fields='["…"]', and format=
// becomes --format; for `convert`, which has two formats, --source-option nulls=zero where it is one of what
// is read. What both may have is left as it is. Where a text was given for a list, the list of that text is
// shown.
std::string as_typed(std::string_view text, bool converts = false);

}  // namespace headrace::cli
