// Needed by every call of the operating system's file interface: valid paths, and readable errors.
#pragma once
#include <string>
#include <system_error>

#include "headrace/core/status.h"

namespace headrace {

Status check_path(const std::string& path);  // not empty, and no NUL inside

// Whether the times of files in a folder are those of this machine's clock: of its disks and its memory, not
// of a server.
bool has_times_of_this_machine(const std::string& folder);

// errno for a path as an error: "cannot read 'x.jpg': Permission denied".
Status system_error(std::string what, const std::string& path);
// The same for an error of the standard library.
Status system_error(std::string what, const std::string& path, const std::error_code& error);

}  // namespace headrace
