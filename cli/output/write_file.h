// Write a whole file.
#pragma once
#include <string>
#include <string_view>

#include "headrace/core/status.h"

namespace headrace::cli {

// Replaces an existing file. Error messages start with `command`.
Status write_file(std::string_view command, const std::string& path, std::string_view bytes);

}  // namespace headrace::cli
