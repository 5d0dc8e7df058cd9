// Reads a Generator: one item is in progress at a time, with as many samples as come in about a millisecond.
// Its cursor: the number of samples handed out since the saved place, the index of the first of them, and
// that place as the generator encodes it (empty: its beginning).
#pragma once
#include "headrace/run/streams/stream.h"
#include "headrace/run/work/body.h"

namespace headrace {

StreamPtr generate_feeder();

class GenerateBody final : public Body {
 public:
  GenerateBody(const Generate& generate, std::string made_at)
      : generator_(generate.generator), read_(generate.ordinal), made_at_(std::move(made_at)) {}
  Result<bool> admit(Ticket& ticket, size_t grain, Pool& pool) const override;
  RowStatus run(Ticket& ticket, Part& part, Evaluator& evaluator) const override;
  bool finish_at_once(Ticket& ticket) const override;
  bool counts_rows() const override { return true; }
  void allow_together() override;

 private:
  class Made;
  GeneratorPtr generator_;
  uint32_t read_;
  std::string made_at_;
  bool side_by_side_ = false;  // samples of an item are stored as columns
};

}  // namespace headrace
