// What carries a state from element to element. One item is under way at a time; whoever feeds the stage
// waits for the state that the item before left behind. An item is all samples that are there, so that the
// waiting costs little; a state of the run does not depend on how many those were.
#pragma once
#include "headrace/run/streams/stream.h"
#include "headrace/run/work/body.h"

namespace headrace {

// The items of a ScanBody. Its cursor: elements handed out since the state that follows was left, that
// state, where the child stood.
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
