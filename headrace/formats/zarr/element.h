// The elements of an array: what Zarr calls its data type, and the value of those that were never written.
// Pure; any thread.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "headrace/core/dtype.h"
#include "headrace/core/value.h"

namespace headrace::zarr {

enum class Form : uint8_t {
  numbers,
  padded_bytes,  // NumPy's S: zeros behind the value
  utf32,         // NumPy's U: the same, 4 bytes a character
  runs,          // of free length: text or bytes
};

struct Element {
  Form form = Form::numbers;
  DType dtype = DType::u8;  // of the field
  uint64_t bytes = 1;       // of one in a chunk; 0: of free length
  bool is_big_endian = false;

  bool is_text() const { return form != Form::numbers; }
  size_t swapped_bytes() const { return form == Form::utf32 ? 4 : bytes; }  // at once, for the other order
};

// Of version 2, "<f4"; `objects`: what "|O" means, which filters say: str, bytes, or nothing known.
Result<Element> element_of_v2(const Value& dtype, const DType* objects);
// Of version 3: "float32", or an object with a name.
Result<Element> element_of_v3(const Value& data_type);

// Bytes of one element that was never written, little-endian; of a text, the text.
Result<std::string> fill_of(const Element& element, const Value& fill);

// One value of NumPy's U, little-endian, in UTF-8.
Status append_utf32(std::span<const std::byte> value, std::string& out);

}  // namespace headrace::zarr
