// A tensor in a plan or a state: {"dtype", "shape", "bytes": hex}, bit-exact.
#pragma once
#include "headrace/core/tensor.h"
#include "headrace/core/value.h"

namespace headrace {

Value tensor_to_value(const Tensor& tensor);
Result<Tensor> tensor_from_value(const Value& value);

}  // namespace headrace
