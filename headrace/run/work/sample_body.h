// Processes samples of the previous stage, each by itself.
#pragma once
#include "headrace/run/work/body.h"

namespace headrace {

class SampleBody final : public Body {
 public:
  Result<bool> admit(Ticket& ticket, size_t grain, Pool& pool) const override;
  RowStatus run(Ticket& ticket, Part& part, Evaluator& evaluator) const override;
  std::optional<SampleRef> sample_of(const Ticket& ticket, const Part& part, size_t i) const override;
  bool finish_at_once(Ticket& ticket) const override;
};

}  // namespace headrace
