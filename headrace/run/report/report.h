// The report of a run: the result of `report()`, as a Value shared by JSON, Python and the text form.
#pragma once
#include <string>
#include <vector>

#include "headrace/core/pool.h"
#include "headrace/core/value.h"
#include "headrace/run/engine/executor.h"
#include "headrace/run/measure/machine.h"
#include "headrace/tune/model.h"

namespace headrace {

struct RunTotals {
  uint64_t elements = 0, samples = 0, wall_ns = 0, waited_ns = 0, in_flight = 0, retried = 0;
  Executor::Phases phases;
  Model::Tried tried;
  Settings found, most;  // the settings the tuner keeps, and their maximum
  size_t cores = 1;
  bool alone = false;     // workers=0: only the consumer's thread
  bool may_wait = false;  // the plan has functions or generators of the user
};

// `lately`: measurements under the current settings; limits and predictions are based on them.
Value make_report(const RunTotals& totals, const Gauge& lately, const std::vector<const Counters*>& workers,
                  const std::vector<ReportedOp>& operators, const Pool::Ledger& ledger);
void add_what_if(Value& report, const Value::List& more);
std::string report_text(const Value& report);

}  // namespace headrace
