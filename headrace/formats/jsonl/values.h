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
// Of a list of texts: all of them, one after the other, for which as many bytes are made as its JSON has; and
// how many bytes each has, an i64 each.
Status make_texts(const JsonSpan& value, DType dtype, const JsonPlace& place, Tensor& out);
Status make_lengths(const JsonSpan& value, const JsonPlace& place, Tensor& out);
// Of numbers of one shape, written to `out`.
Status write_numbers(const JsonSpan& value, const TensorSpec& spec, std::byte* out);

}  // namespace headrace
