// Padding: how rows of unequal shapes become one array. Each row is at the front of its place, and the rest
// of the place is filled. Strings are not padded; batches hold them as a list.
#pragma once
#include <string_view>
#include <vector>

#include "headrace/core/sample.h"
#include "headrace/core/value.h"

namespace headrace {

struct Padding {
  std::vector<Shape> shapes;  // of each field's rows; kAny: the largest of the batch
  std::vector<Value> fill;    // one number per field
  bool operator==(const Padding&) const = default;
};

// `shapes`: null (the largest of the batch), or {field: [dimension or null, …]} for some of the fields.
// `fill`: null (0), a number, or {field: number}. Both may also be lists, with an item per field.
Result<Padding> padding_from(const Value* shapes, const Value* fill, const Schema& rows,
                             std::string_view verb);
Value padding_to_value(const Padding& padding);  // {"shapes": […], "fill": […]}

// The spec of a row after padding; an error when the row is larger, or the fill does not fit its dtype.
Result<TensorSpec> padded_spec(const Padding& padding, const Schema& rows, size_t field,
                               std::string_view verb);

// The number as the bytes of one element of `dtype`. REQUIRES: it fits.
std::vector<std::byte> element_bytes(const Value& number, DType dtype);

}  // namespace headrace
