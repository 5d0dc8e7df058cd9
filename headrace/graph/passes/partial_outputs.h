// Which steps need to make only a part of an image, because those who read it crop it.
//
// Not a rewrite: it holds with any rewrite switched off, so that damage in pixels that nobody asks for is
// found always or never.
#pragma once
#include <span>

#include "headrace/graph/program.h"

namespace headrace {

// Fills Call::part_readers of every step whose output goes to cropping operators and nowhere else. `chain`:
// programs that run one after the other on one sample.
void mark_part_readers(std::span<Program> chain);

}  // namespace headrace
