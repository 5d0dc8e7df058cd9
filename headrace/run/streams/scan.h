// Carries a state from element to element. One item is in progress at a time; the feeder of the stage waits
// for the state after the previous item. An item is all samples that are available, so that waiting costs
// little; a state of the run does not depend on their number.
#pragma once
#include "headrace/run/streams/stream.h"
#include "headrace/run/work/body.h"

namespace headrace {

// The items of a ScanBody. Its cursor: elements handed out since the saved state, that state, and the
// position of the child at that state.
StreamPtr scan_feeder(StreamPtr child, std::vector<Tensor> initial);

class ScanBody final : public Body {
 public:
  ScanBody(Program program, size_t states) : program_(std::move(program)), states_(states) {}
  Result<bool> admit(Ticket& ticket, size_t grain, Pool& pool) const override;
  RowStatus run(Ticket& ticket, Part& part, Evaluator& evaluator) const override;
  bool finish_at_once(Ticket& ticket) const override;
  bool counts_rows() const override { return true; }

 private:
  Status step(std::vector<Tensor>& carried, Sample& sample, Evaluator& evaluator) const;

  Program program_;
  size_t states_;
};

}  // namespace headrace
