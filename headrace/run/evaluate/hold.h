// Samples that go through nothing but functions of an interpreter take its lock once for many.
#pragma once
#include <memory>
#include <span>

#include "headrace/run/evaluate/links.h"

namespace headrace {

// hold_for() of what a sample goes through: `programs`, then the links.
std::shared_ptr<const void> hold_for(std::span<const Program> programs, std::span<const Link> chain);
// Whether functions of an interpreter are among it.
bool calls_functions(std::span<const Program> programs, std::span<const Link> chain);

}  // namespace headrace
