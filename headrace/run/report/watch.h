// What a loader keeps for watching a run: the names of samples, and the traces of the current (or last)
// iteration and of the one before.
//
// begin() and end() are called by the thread that begins and ends the iteration; the rest may be called from
// any thread in between.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "headrace/run/engine/trace.h"
#include "headrace/run/report/timeline.h"

namespace headrace {

class Watch {
 public:
  // `file`: for the first iteration's trace; "": none. Without `is_on` only that trace is kept.
  Watch(const std::vector<Stage*>& stages, bool is_on, std::string file);

  size_t counted_stages() const { return counted_stages_; }  // stages in which costs of samples are counted
  Trace* begin(uint64_t at_ns);                              // null: no trace is kept
  void end();                                                // call when all threads have stopped working

  Value sample_cost(const std::vector<const Counters*>& workers) const;
  std::shared_ptr<const Timeline> timeline() const;  // null: nothing to show

 private:
  std::shared_ptr<const SampleNames> names_;
  bool is_on_;
  size_t counted_stages_;
  std::string file_;
  std::unique_ptr<Trace> trace_, before_;  // of this iteration, and of the one before it
};

}  // namespace headrace
