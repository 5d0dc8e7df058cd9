// Finds steps that need to produce only a part of an image, because all readers crop it.
//
// Not a rewrite: it also applies with every rewrite switched off, so that whether damage in unused pixels is
// found does not depend on rewrites.
#pragma once
#include <span>

#include "headrace/graph/program.h"

namespace headrace {

// Fills Call::part_readers of every step whose output goes only to cropping operators. `chain`: programs that
// run one after the other on one sample.
void mark_part_readers(std::span<Program> chain);

}  // namespace headrace
