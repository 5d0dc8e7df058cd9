// The options of Dataset.options(), as LoaderOptions. REQUIRES: the GIL is held.
#pragma once
#include <nanobind/nanobind.h>

#include "headrace/run/loader.h"

namespace headrace::python {

// Throws for unknown names and wrong types.
LoaderOptions loader_options(const nanobind::dict& options);

}  // namespace headrace::python
