// Estimates, before a run begins, what it will hold in memory: for explain().
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "headrace/graph/explain/element_size.h"
#include "headrace/tune/settings.h"

namespace headrace {

class Stage;

struct Held {
  std::string what;             // "elements in progress and ready"
  std::optional<double> bytes;  // empty where the size is unknown
  std::string how;              // "3 of 9.6 MB"
  bool in_budget = true;        // false for caches with memory of their own
};

// `plan` as it runs, with the `stages` it was lowered to; `scratch`: bytes of one worker, if measured.
std::vector<Held> memory_estimate(const Node& plan, const ElementSizes& sizes,
                                  const std::vector<Stage*>& stages, const Settings& settings,
                                  std::optional<double> scratch, size_t budget);

// A line for each, and their sum compared with the budget.
std::string memory_text(const std::vector<Held>& held, size_t budget);

}  // namespace headrace
