#include "headrace/core/dtype.h"

#include <array>
#include <bit>
#include <string>

namespace headrace {
namespace {
constexpr std::array<std::string_view, kDTypes> kShort{"bool", "u8",  "u16", "u32",   "u64",
                                                       "i8",   "i16", "i32", "i64",   "f16",
                                                       "bf16", "f32", "f64", "bytes", "str"};
constexpr std::array<std::string_view, kDTypes> kNumpy{"bool",     "uint8",   "uint16",  "uint32", "uint64",
                                                       "int8",     "int16",   "int32",   "int64",  "float16",
                                                       "bfloat16", "float32", "float64", "bytes",  "str"};
}  // namespace

std::string_view dtype_name(DType type) { return kNumpy[static_cast<size_t>(type)]; }
std::string_view short_name(DType type) { return kShort[static_cast<size_t>(type)]; }

std::string dtype_names() {
  std::string out;
  for (const std::string_view name : kNumpy) out += (out.empty() ? "" : " ") + std::string(name);
  return out;
}

Result<DType> parse_dtype(std::string_view name) {
  for (size_t i = 0; i < kDTypes; ++i)
    if (name == kShort[i] || name == kNumpy[i]) return static_cast<DType>(i);
  return invalid({.expected = "one of " + dtype_names(), .got = "'" + std::string(name) + "'"})
      .in_option("dtype");
}

uint16_t f32_to_f16(float value) {
  const uint32_t x = std::bit_cast<uint32_t>(value), sign = (x >> 16) & 0x8000u, a = x & 0x7fffffffu;
  if (a >= 0x47800000u)  // overflow, infinity, NaN
    return static_cast<uint16_t>(sign | (a > 0x7f800000u ? 0x7e00u : 0x7c00u));
  if (a < 0x38800000u) {  // subnormal half or zero: let the float adder round
    const float shifted = std::bit_cast<float>(a) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  const uint32_t odd = (a >> 13) & 1u;
  return static_cast<uint16_t>(sign | ((a - 0x38000000u + 0xfffu + odd) >> 13));
}

float f16_to_f32(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16, a = bits & 0x7fffu;
  if (a >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | ((a & 0x3ffu) << 13));
  if (a >= 0x400u) return std::bit_cast<float>(sign | ((a << 13) + 0x38000000u));
  const float magnitude = static_cast<float>(a) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

uint16_t f32_to_bf16(float value) {
  const uint32_t x = std::bit_cast<uint32_t>(value);
  if ((x & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((x >> 16) | 0x40u);
  return static_cast<uint16_t>((x + 0x7fffu + ((x >> 16) & 1u)) >> 16);
}

float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }

}  // namespace headrace
