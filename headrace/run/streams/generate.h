// What reads a Generator: one item is under way at a time, of as many samples as come without a wait that
// would be felt. Its cursor: samples handed out since the place that follows, the index of the first of
// them, that place in the generator's own words, or nothing for its beginning.
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
  bool side_by_side_ = false;  // samples of an item
};

}  // namespace headrace
