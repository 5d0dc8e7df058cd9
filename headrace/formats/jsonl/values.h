// Values of JSON as tensors. Any thread.
#pragma once
#include <string>

#include "headrace/core/buffer.h"
#include "headrace/core/tensor.h"
#include "headrace/formats/jsonl/json_line.h"
#include "headrace/formats/records/made_bytes.h"

namespace headrace {

// How many bytes the value takes that are made of it, as that dtype, at most; 0 where it is part of its line.
size_t made_bytes(const JsonSpan& value, const TensorSpec& spec);

// Where a value stands, and where what is made of it goes.
struct JsonPlace {
  const BufferPtr& line;  // the value's text is part of it
  bool is_utf8 = false;   // the line; else it is looked at
  MadeBytes& made;
};
// The error says what was wanted and what came.
Status make_value(const JsonSpan& value, const TensorSpec& spec, const JsonPlace& place, Tensor& out);
// The same of numbers of one shape, written to `out`.
Status write_numbers(const JsonSpan& value, const TensorSpec& spec, std::byte* out);

}  // namespace headrace
