// Padding: how rows of unequal shapes become one array. Each row lies at the front of its place, and what is
// left of it is filled. Text has no shape to be padded to; batches hold it as a list.
#pragma once
#include <string_view>
#include <vector>

#include "headrace/core/sample.h"
#include "headrace/core/value.h"

namespace headrace {

struct Padding {
  std::vector<Shape> shapes;  // of each field's rows; kAny: the largest of the batch
  std::vector<Value> fill;    // one number a field
};

// `shapes`: null (the largest of the batch), or {field: [dimension or null, …]} for some of the fields.
// `fill`: null (0), a number, or {field: number}. Both may also be lists, an item a field.
Result<Padding> padding_from(const Value* shapes, const Value* fill, const Schema& rows,
                             std::string_view verb);
Value padding_to_value(const Padding& padding);  // {"shapes": […], "fill": […]}

// What a row looks like once it is padded; an error when it is larger, or the fill does not fit its dtype.
Result<TensorSpec> padded_spec(const Padding& padding, const Schema& rows, size_t field,
                               std::string_view verb);

// The bytes of one element of `dtype` that hold the number. REQUIRES: it fits.
std::vector<std::byte> element_bytes(const Value& number, DType dtype);

}  // namespace headrace
