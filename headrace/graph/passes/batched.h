// A program for one sample turned into one for many at once, with the same bytes for each.
#pragma once
#include <optional>

#include "headrace/graph/program.h"

namespace headrace {

// The same steps over batches of the fields; `incoming` is the schema of a batch. Empty where that is not
// equivalent: operators that need a whole sample, shapes that differ between samples, engine fields.
std::optional<Program> batched(const Program& program, const Schema& incoming);

}  // namespace headrace
