// Rows of a batch as one tensor.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headrace/core/row_list.h"
#include "headrace/graph/node.h"
#include "headrace/run/evaluate/evaluate.h"

namespace headrace {

// Rows of any shapes, shared.
Tensor ragged_column(RowListPtr rows, DType dtype);

// What row `row` is, for messages: whatever answers that, for the time of a call.
class NameOfRow {
 public:
  template <class Answer> NameOfRow(const Answer& answer)
      : answer_(&answer),
        ask_([](const void* of, size_t row) { return (*static_cast<const Answer*>(of))(row); }) {}
  std::string operator()(size_t row) const { return ask_(answer_, row); }

 private:
  const void* answer_;
  std::string (*ask_)(const void* of, size_t row);
};

// A field's rows as one tensor, padded if the batch says so, or as a ragged one for text and ragged batches;
// rows of unequal shape are an error that names both, by what `who` says of each. `bound`: what dimensions
// that padding leaves open grow to at least; 0: to the largest row.
Result<Tensor> collate(std::span<const Tensor> rows, const Batch& batch, const Schema& schema, size_t field,
                       Evaluator& evaluator, const NameOfRow& who, int64_t bound = 0);
// Whether rows of a field can be written to their place before the others are known.
bool has_slots(const Batch& batch, const Schema& schema, size_t field);
// Whether rows of a field that have no slots are texts, and not batches of them.
bool are_texts(const TensorSpec& row);

}  // namespace headrace
