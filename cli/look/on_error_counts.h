// How many broken samples on_error() skipped or replaced, for the summaries of `run` and `view`.
#pragma once
#include <cstdint>
#include <string>

#include "headrace/core/value.h"

namespace headrace::cli {

struct OnErrorCounts {
  uint64_t skipped = 0, replaced = 0;

  // From a loader's report(), which counts all its iterations, including samples that were only read ahead.
  static OnErrorCounts from_report(const Value& report);
  OnErrorCounts since(const OnErrorCounts& earlier) const;
  std::string text() const;  // "2 broken samples skipped, 1 replaced"; "" if there were none
};

}  // namespace headrace::cli
