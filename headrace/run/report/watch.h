// What a loader keeps so that a run can be looked at: what its samples are called, and the traces of the
// iteration under way, or of the last one, and of the one before.
//
// Begun and ended by whoever begins and ends the iteration; the rest may be called from any thread in
// between.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "headrace/run/engine/trace.h"
#include "headrace/run/report/timeline.h"

namespace headrace {

class Watch {
 public:
  // `file`: of the first iteration's trace; "": none. Not `is_on`: nothing is kept but that.
  Watch(const std::vector<Stage*>& stages, bool is_on, std::string file);

  size_t counted_stages() const { return counted_stages_; }  // what samples cost in them is counted
  Trace* begin(uint64_t at_ns);                              // null: there is none
  void end();                                                // nobody works any more

  Value sample_cost(const std::vector<const Counters*>& workers) const;
  std::shared_ptr<const Timeline> timeline() const;  // null: there is nothing to see

 private:
  std::shared_ptr<const SampleNames> names_;
  bool is_on_;
  size_t counted_stages_;
  std::string file_;
  std::unique_ptr<Trace> trace_, before_;  // of this iteration, and of the one before it
};

}  // namespace headrace
