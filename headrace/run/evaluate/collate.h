// Collates the rows of a batch into one tensor.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headrace/core/row_list.h"
#include "headrace/graph/node.h"
#include "headrace/run/evaluate/evaluate.h"

namespace headrace {

// A ragged column: rows of any shapes, shared.
Tensor ragged_column(RowListPtr rows, DType dtype);

// Names a row in messages; refers to a callable that must live as long as the call.
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

// A field's rows as one tensor, padded if the batch has padding, or as a ragged one for strings and ragged
// batches; rows of unequal shape are an error that names both with `who`. `bound`: minimum size of dimensions
// that padding leaves open; 0: the largest row.
Result<Tensor> collate(std::span<const Tensor> rows, const Batch& batch, const Schema& schema, size_t field,
                       Evaluator& evaluator, const NameOfRow& who, int64_t bound = 0);
// Whether rows of a field can be written to their place before the others are known.
bool has_slots(const Batch& batch, const Schema& schema, size_t field);
// Whether rows of a field without slots are strings, and not batches of strings.
bool are_texts(const TensorSpec& row);

}  // namespace headrace
