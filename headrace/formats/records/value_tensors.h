// Parts of records as tensors, for formats whose records hold several fields. Pure; any thread.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "headrace/formats/records/record_files.h"

namespace headrace {

// Part of a record's bytes as a tensor: shared, or copied if they are not aligned. REQUIRES: the bytes exist.
Tensor record_part(const Record& record, size_t begin, DType dtype, const Shape& shape);

// An array that follows a header. An error unless its elements fill the bytes from `data` to the end.
struct ArrayHead {
  DType dtype = DType::u8;
  Shape shape;
  size_t data = 0;
};
Status check_array(const ArrayHead& head, std::span<const std::byte> bytes);

// An image as PIL's raw bytes: uint32 width, height and length of the mode, the mode, the pixels. Modes L,
// LA, RGB and RGBA.
Result<ArrayHead> read_pil_head(std::span<const std::byte> bytes);

// Dtypes and shapes as a string, and back: for an index of fields that are known only from a sample.
std::string pack_specs(const std::vector<TensorSpec>& specs);
Result<std::vector<TensorSpec>> unpack_specs(std::string_view text);

}  // namespace headrace
