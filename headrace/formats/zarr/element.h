// The elements of an array: Zarr's data type, and the fill value. Pure; any thread.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "headrace/core/dtype.h"
#include "headrace/core/value.h"

namespace headrace::zarr {

enum class Form : uint8_t {
  numbers,
  padded_bytes,  // NumPy's S: padded with zeros
  utf32,         // NumPy's U: the same, 4 bytes per character
  runs,          // of variable length: str or bytes
};

struct Element {
  Form form = Form::numbers;
  DType dtype = DType::u8;  // of the field
  uint64_t bytes = 1;       // per element of a chunk; 0: variable length
  bool is_big_endian = false;

  bool is_text() const { return form != Form::numbers; }
  size_t swapped_bytes() const { return form == Form::utf32 ? 4 : bytes; }  // unit of byte swapping
};

// Version 2, "<f4"; `objects`: the type of "|O" according to the filters: str, bytes, or null for unknown.
Result<Element> element_of_v2(const Value& dtype, const DType* objects);
// Version 3: "float32", or an object with a name.
Result<Element> element_of_v3(const Value& data_type);

// The fill value: bytes of one element, little-endian; for a string, the string.
Result<std::string> fill_of(const Element& element, const Value& fill);

// One value of NumPy's U, little-endian, in UTF-8.
Status append_utf32(std::span<const std::byte> value, std::string& out);

}  // namespace headrace::zarr
