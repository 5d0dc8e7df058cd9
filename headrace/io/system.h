// What every call of the operating system's file interface needs: paths it can take, errors people can read.
#pragma once
#include <string>
#include <system_error>

#include "headrace/core/status.h"

namespace headrace {

Status check_path(const std::string& path);  // not empty, and no NUL inside

// What errno says of a path: "cannot read 'x.jpg': Permission denied".
Status system_error(std::string what, const std::string& path);
// The same of an error of the standard library.
Status system_error(std::string what, const std::string& path, const std::error_code& error);

}  // namespace headrace
