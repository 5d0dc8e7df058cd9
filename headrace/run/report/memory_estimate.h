// What a run will hold in memory, estimated before it begins: for people who read explain().
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "headrace/graph/explain/element_size.h"
#include "headrace/tune/settings.h"

namespace headrace {

class Stage;

struct Held {
  std::string what;             // "elements under way and ready"
  std::optional<double> bytes;  // nothing where no size is known
  std::string how;              // "3 of 9.6 MB"
  bool in_budget = true;        // caches have memory of their own
};

// `plan` as it runs, `stages` those it was lowered to; `scratch`: bytes of one worker, where they were
// measured.
std::vector<Held> memory_estimate(const Node& plan, const ElementSizes& sizes,
                                  const std::vector<Stage*>& stages, const Settings& settings,
                                  std::optional<double> scratch, size_t budget);

// A line for each, and their sum beside the budget.
std::string memory_text(const std::vector<Held>& held, size_t budget);

}  // namespace headrace
