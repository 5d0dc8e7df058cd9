// A program for one sample as one for many at once, side by side: the same bytes for each.
#pragma once
#include <optional>

#include "headrace/graph/program.h"

namespace headrace {

// The same steps over batches of the fields, of which `incoming` is the schema. Nothing where that is not the
// same: operators that look at a whole sample, shapes that differ from sample to sample, the engine's own
// fields.
std::optional<Program> batched(const Program& program, const Schema& incoming);

}  // namespace headrace
