// Joins the sequences of a row.
#pragma once
#include <span>
#include <utility>

#include "headrace/run/work/body.h"

namespace headrace {

class PackBody final : public Body {
 public:
  explicit PackBody(Pack pack) : pack_(std::move(pack)) {}
  RowStatus run(Ticket& ticket, Part& part, Evaluator& evaluator) const override;

 private:
  Status pack_field(std::span<const Sample> pieces, size_t field, Sample& out, Evaluator& evaluator) const;

  Pack pack_;
};

}  // namespace headrace
