// A run in numbers: what `report()` answers, as a Value that JSON, Python and the text form share.
#pragma once
#include <string>
#include <vector>

#include "headrace/core/pool.h"
#include "headrace/core/value.h"
#include "headrace/run/counters.h"
#include "headrace/run/machine.h"

namespace headrace {

struct RunTotals {
  uint64_t elements = 0, samples = 0, wall_ns = 0, waited_ns = 0, in_flight = 0;
  size_t workers = 0, io = 0, ready = 0;
  size_t cores = usable_cores();
};

Value make_report(const RunTotals& totals, const std::vector<const Counters*>& workers,
                  const std::vector<ReportedOp>& operators, const Pool::Ledger& ledger);
std::string report_text(const Value& report);

}  // namespace headrace
