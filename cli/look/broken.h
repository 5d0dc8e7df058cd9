// Samples that cannot be read or decoded, and the count of each reason: for `inspect`, `verify` and `doctor`.
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
  SamplePlace place;
  std::string reason;
  Code code;
  ErrorFacts facts;
};
// "index", "file", and "record" and "byte" in it where there are such.
void set_place(uint64_t index, const SamplePlace& place, Value& out);
Broken broken_sample(const Source& source, uint64_t index, Status status);

// Reasons without what differs between files, and how many samples have each, the most frequent first.
std::vector<std::pair<std::string, uint64_t>> totals_by_reason(const std::vector<Broken>& broken);

// Lines of "FILE: REASON". If files hold many records or rows, very many can share one reason, such as nulls
// in a column: of these, the first `most`, and how many more there are.
std::vector<std::string> broken_lines(const std::vector<Broken>& broken, const Source& source, size_t most);

Value broken_values(const std::vector<Broken>& broken);  // [{"index", "file", "reason", "kind", "facts"}]
Value reason_values(const std::vector<Broken>& broken);  // {reason: count}

}  // namespace headrace::cli
