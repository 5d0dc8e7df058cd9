// What Dataset.options() keeps, as the engine has it. The GIL is held.
#pragma once
#include <nanobind/nanobind.h>

#include "headrace/run/loader.h"

namespace headrace::python {

// Throws for names and types that are none.
LoaderOptions loader_options(const nanobind::dict& options);

}  // namespace headrace::python
