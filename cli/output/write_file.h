// A file of a command's own, in one piece.
#pragma once
#include <string>
#include <string_view>

#include "headrace/core/status.h"

namespace headrace::cli {

// `command` begins the message of a failure. What was there is replaced.
Status write_file(std::string_view command, const std::string& path, std::string_view bytes);

}  // namespace headrace::cli
