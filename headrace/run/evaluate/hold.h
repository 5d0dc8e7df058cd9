// Samples that go only through Python functions take the GIL once for many.
#pragma once
#include <memory>
#include <span>

#include "headrace/run/evaluate/links.h"

namespace headrace {

// hold_for() for `programs` followed by the links.
std::shared_ptr<const void> hold_for(std::span<const Program> programs, std::span<const Link> chain);
// Whether they contain Python functions.
bool calls_functions(std::span<const Program> programs, std::span<const Link> chain);

}  // namespace headrace
