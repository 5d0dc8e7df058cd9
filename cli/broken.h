// Samples that do not read or decode, and how often each reason comes: for `verify` and `doctor`.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "headrace/core/status.h"
#include "headrace/core/value.h"

namespace headrace::cli {

struct Broken {
  uint64_t index;
  std::string file, reason;
  Code code;
};

// Reasons without what differs from file to file, and how many samples have each, the most frequent first.
std::vector<std::pair<std::string, uint64_t>> totals_by_reason(const std::vector<Broken>& broken);

Value broken_values(const std::vector<Broken>& broken);  // [{"index", "file", "reason", "kind"}]
Value reason_values(const std::vector<Broken>& broken);  // {reason: how many}

}  // namespace headrace::cli
