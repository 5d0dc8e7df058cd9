// The report of `headrace doctor`: everything found and measured, as text and as JSON.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "cli/doctor/advice.h"
#include "cli/doctor/findings.h"
#include "cli/doctor/look.h"
#include "cli/doctor/slow.h"

namespace headrace::cli {

struct Diagnosis {
  const SampleReader& reader;
  const LabelReader& labels;
  std::string path;
  std::vector<std::string> hints;  // as in `inspect`
  const Look& look;
  Copies copies;
  std::vector<Suspicion> suspicions;
  Balance balance;
  Slow slow;
  std::optional<Measured> measured;  // not with --no-advice

  // Where a sample is stored; `position` in look.samples.
  SamplePlace place(uint64_t position) const { return reader.source().where(look.index(position)); }
  bool is_broken() const;
};

void print_text(const Diagnosis& diagnosis);
Value json_of(const Diagnosis& diagnosis);  // docs/doctor.md lists its keys

}  // namespace headrace::cli
