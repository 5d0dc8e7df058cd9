// Exceptions of the standard library in words. Our own code throws none; these come from the system: no
// memory, no threads.
#pragma once
#include <exception>
#include <string>

#include "headrace/core/status.h"

namespace headrace {

// `exhausted` when there is no memory, `io` with its errno when the system refused a thread, else `internal`.
Status said_by(const std::exception& error);

}  // namespace headrace
