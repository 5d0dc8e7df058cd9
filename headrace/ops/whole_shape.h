// A shape of which one dimension may be -1, inferred from the number of elements. For reshape and decode_raw.
#pragma once
#include <optional>
#include <span>

#include "headrace/core/tensor.h"

namespace headrace {

Status check_whole_shape(std::span<const int64_t> shape);

// The shape of `count` elements, or nothing where they do not fit. REQUIRES: the shape is checked.
std::optional<Shape> whole_shape(std::span<const int64_t> shape, int64_t count);

}  // namespace headrace
