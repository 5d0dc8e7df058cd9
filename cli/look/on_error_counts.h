// How many samples on_error() left out or gave another's place, for the summaries of `run` and `view`.
#pragma once
#include <cstdint>
#include <string>

#include "headrace/core/value.h"

namespace headrace::cli {

struct OnErrorCounts {
  uint64_t skipped = 0, replaced = 0;

  // Of a loader's report(), which counts over all its iterations, with samples that were only read ahead.
  static OnErrorCounts from_report(const Value& report);
  OnErrorCounts since(const OnErrorCounts& earlier) const;
  std::string text() const;  // "2 broken ones skipped, 1 replaced"; "" when there were none
};

}  // namespace headrace::cli
