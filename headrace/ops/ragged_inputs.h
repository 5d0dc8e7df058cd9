// Inputs of an operator that are batches of strings, or of arrays of different shapes. No View can describe
// them, so only operators of Phase::python are called with them, and find them here.
#pragma once
#include <vector>

#include "headrace/core/tensor.h"

namespace headrace {

// Sets those of the operator that is called on this thread, during its lifetime.
class RaggedInputs {
 public:
  // One per input, null for an array. They must outlive the call.
  explicit RaggedInputs(std::vector<const Tensor*> inputs);
  ~RaggedInputs();
  RaggedInputs(const RaggedInputs&) = delete;
  RaggedInputs& operator=(const RaggedInputs&) = delete;

 private:
  friend const Tensor* ragged_input(size_t i);
  std::vector<const Tensor*> inputs_;
  const RaggedInputs* outer_;
};

// Input `i` of the operator that is called on this thread when it is such a batch, else null.
const Tensor* ragged_input(size_t i);

}  // namespace headrace
