// Samples that do not read or decode, and how often each reason comes: for `inspect`, `verify` and `doctor`.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "headrace/core/status.h"
#include "headrace/core/value.h"
#include "headrace/formats/source.h"

namespace headrace::cli {

struct Broken {
  uint64_t index;
  std::string file, reason;
  Code code;
};

// Reasons without what differs from file to file, and how many samples have each, the most frequent first.
std::vector<std::pair<std::string, uint64_t>> totals_by_reason(const std::vector<Broken>& broken);

// A line each, "FILE: REASON". Of records and rows, which are many a file, those of one reason may be as
// many, such as all whose column has nulls: of these the first `most` and how many more there are.
std::vector<std::string> broken_lines(const std::vector<Broken>& broken, const Source& source, size_t most);

Value broken_values(const std::vector<Broken>& broken);  // [{"index", "file", "reason", "kind"}]
Value reason_values(const std::vector<Broken>& broken);  // {reason: how many}

}  // namespace headrace::cli
