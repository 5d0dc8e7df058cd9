// Values of JSON as tensors. Any thread.
#pragma once
#include <string>

#include "headrace/core/buffer.h"
#include "headrace/core/tensor.h"
#include "headrace/formats/jsonl/json_line.h"

namespace headrace {

// How many bytes the value takes that are made of it, as that dtype, at most; 0 where it is part of its line.
size_t made_bytes(const JsonSpan& value, const TensorSpec& spec);

// Where the bytes of a tensor are: in those of a line, or made beside them.
struct JsonPlace {
  const BufferPtr& line;         // the value's text is part of it
  const MutableBufferPtr& made;  // has room for made_bytes() at `at`, a multiple of eight
  size_t at = 0;
};
// The error says what was wanted and what came.
Status make_value(const JsonSpan& value, const TensorSpec& spec, const JsonPlace& place, Tensor& out);

}  // namespace headrace
