// Converts JSON values to tensors. Any thread.
#pragma once
#include <string_view>

#include "headrace/core/buffer.h"
#include "headrace/core/tensor.h"
#include "headrace/formats/jsonl/json_line.h"
#include "headrace/formats/records/made_bytes.h"

namespace headrace {

// The most bytes that the value needs as `spec`; 0 if it can share those of its line.
size_t made_bytes(const JsonSpan& value, const TensorSpec& spec);

struct JsonPlace {
  const BufferPtr& line;  // contains the text of the value
  bool is_utf8 = false;   // the line is known to be UTF-8; otherwise it is checked
  MadeBytes& made;        // memory for what cannot share the line's
};
// Whether float64 may change whole numbers that it cannot hold.
enum class Rounding : uint8_t { refused, taken };
// An error states what was expected and what was found.
Status make_value(const JsonSpan& value, const TensorSpec& spec, Rounding rounding, const JsonPlace& place,
                  Tensor& out);
// For a list of strings: the concatenated strings, which need at most as many bytes as the JSON; and the
// number of bytes of each, as i64.
Status make_texts(const JsonSpan& value, DType dtype, const JsonPlace& place, Tensor& out);
Status make_lengths(const JsonSpan& value, const JsonPlace& place, Tensor& out);
// Writes numbers of a fixed shape to `out`.
Status write_numbers(const JsonSpan& value, const TensorSpec& spec, Rounding rounding, std::byte* out);
// A number in the value that float64 cannot hold; "" if there is none.
std::string_view rounded_number(const JsonSpan& value);

}  // namespace headrace
