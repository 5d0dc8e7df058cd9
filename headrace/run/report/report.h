// A run in numbers: what `report()` answers, as a Value that JSON, Python and the text form share.
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
  uint64_t elements = 0, samples = 0, wall_ns = 0, waited_ns = 0, in_flight = 0;
  Executor::Phases phases;
  Model::Tried tried;
  Settings found, most;  // what the tuner keeps, and may turn to
  size_t cores = 1;
  bool alone = false;     // no thread but the consumer's
  bool may_wait = false;  // functions or generators of the user stand in it
};

// `lately`: what the run is like under the settings it has now; limits and predictions are of that.
Value make_report(const RunTotals& totals, const Gauge& lately, const std::vector<const Counters*>& workers,
                  const std::vector<ReportedOp>& operators, const Pool::Ledger& ledger);
void add_what_if(Value& report, const Value::List& more);
std::string report_text(const Value& report);

}  // namespace headrace
