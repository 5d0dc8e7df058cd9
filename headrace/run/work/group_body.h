// Makes batches of the samples of the previous stage.
#pragma once
#include <span>
#include <utility>

#include "headrace/run/work/body.h"

namespace headrace {

class GroupBody final : public Body {
 public:
  GroupBody(Batch batch, Schema row_schema) : batch_(std::move(batch)), row_schema_(std::move(row_schema)) {}
  RowStatus run(Ticket& ticket, Part& part, Evaluator& evaluator) const override;
  bool finish_at_once(Ticket& ticket) const override;

 private:
  Result<Sample> of_samples(const Item& item, Evaluator& evaluator) const;
  Result<Sample> of_ranges(std::span<const RowRange> ranges, Evaluator& evaluator) const;

  Batch batch_;
  Schema row_schema_;
};

}  // namespace headrace
