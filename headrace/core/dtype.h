// The element types of a tensor, their sizes and their names: NumPy's for people, short ones in plans, states
// and fingerprints.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "headrace/core/status.h"

namespace headrace {

enum class DType : uint8_t {
  boolean,
  u8,
  u16,
  u32,
  u64,
  i8,
  i16,
  i32,
  i64,
  f16,
  bf16,
  f32,
  f64,
  bytes,  // one run of raw bytes: shape is (length); a scalar `bytes` to Python
  str,    // the same, UTF-8: a scalar `str` to Python
};
inline constexpr int kDTypes = 15;

// Bytes of one element; 1 for bytes and str.
constexpr size_t size_of(DType type) {
  constexpr uint8_t sizes[kDTypes] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 1, 1};
  return sizes[static_cast<size_t>(type)];
}

constexpr bool is_text(DType type) { return type == DType::bytes || type == DType::str; }
constexpr bool is_float(DType type) { return type >= DType::f16 && type <= DType::f64; }

std::string_view dtype_name(DType type);           // NumPy's: "float32", "bfloat16", "bytes"
std::string_view short_name(DType type);           // "f32", as plans, states and fingerprints have it
std::string dtype_names();                         // "bool uint8 uint16 …", for messages
Result<DType> parse_dtype(std::string_view name);  // of either name

// IEEE half and bfloat16, round to nearest even; only for kernels and tests that have no SIMD form.
uint16_t f32_to_f16(float value);
float f16_to_f32(uint16_t bits);
uint16_t f32_to_bf16(float value);
float bf16_to_f32(uint16_t bits);

// Call `f.template operator()<T>()` with the C++ type of a numeric dtype; f16 and bf16 come as uint16_t tags
// below.
struct half_t {
  uint16_t bits;
};
struct bfloat_t {
  uint16_t bits;
};
template <class F> decltype(auto) visit_dtype(DType type, F&& f) {
  switch (type) {
    case DType::boolean: return f.template operator()<bool>();
    case DType::u16: return f.template operator()<uint16_t>();
    case DType::u32: return f.template operator()<uint32_t>();
    case DType::u64: return f.template operator()<uint64_t>();
    case DType::i8: return f.template operator()<int8_t>();
    case DType::i16: return f.template operator()<int16_t>();
    case DType::i32: return f.template operator()<int32_t>();
    case DType::i64: return f.template operator()<int64_t>();
    case DType::f16: return f.template operator()<half_t>();
    case DType::bf16: return f.template operator()<bfloat_t>();
    case DType::f32: return f.template operator()<float>();
    case DType::f64: return f.template operator()<double>();
    default: return f.template operator()<uint8_t>();  // u8, bytes, str
  }
}

}  // namespace headrace
