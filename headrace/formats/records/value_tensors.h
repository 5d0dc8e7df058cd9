// Parts of records as tensors, for formats whose records hold several fields. Pure; any thread.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "headrace/formats/records/record_files.h"

namespace headrace {

// Some of a record's bytes: shared, or copied where they are not aligned. REQUIRES: they are there.
Tensor record_part(const Record& record, size_t begin, DType dtype, const Shape& shape);

// An array that lies behind a header. Refused unless its numbers fill the bytes from `data` to the end.
struct ArrayHead {
  DType dtype = DType::u8;
  Shape shape;
  size_t data = 0;
};
Status check_array(const ArrayHead& head, std::span<const std::byte> bytes);

// An image of PIL: u32 width, height and length of the mode, the mode, the pixels. Of the modes L, LA, RGB
// and RGBA.
Result<ArrayHead> read_pil_head(std::span<const std::byte> bytes);

// Dtypes and shapes as a text, and back: what an index keeps of fields that only a sample tells about.
std::string pack_specs(const std::vector<TensorSpec>& specs);
Result<std::vector<TensorSpec>> unpack_specs(std::string_view text);

}  // namespace headrace
