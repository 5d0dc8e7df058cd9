// Inputs of an operator that are batches of texts, or of arrays of several shapes. No View can say what they
// hold, so operators of Phase::python alone are called with them, and find them here.
#pragma once
#include <vector>

#include "headrace/core/tensor.h"

namespace headrace {

// Those of the operator that is called on this thread, for as long as it lives.
class RaggedInputs {
 public:
  // One an input, null for an array. They outlive the call.
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
