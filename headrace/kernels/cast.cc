#include "headrace/kernels/cast.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "headrace/kernels/affine.h"

namespace headrace::kernels {
namespace {

template <class T> inline constexpr bool is_small_float =
    std::is_same_v<T, half_t> || std::is_same_v<T, bfloat_t>;

// f32 rounded to odd: rounding again, to a smaller float, then gives the same as rounding once from f64.
float to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  const double back = nearest;
  auto bits = std::bit_cast<uint32_t>(nearest);
  if (back == value || std::isnan(value) || (bits & 1u)) return nearest;
  return std::bit_cast<float>(std::abs(back) > std::abs(value) ? --bits : ++bits);
}

template <class T> auto widen(T value) {
  if constexpr (std::is_same_v<T, half_t>)
    return f16_to_f32(value.bits);
  else if constexpr (std::is_same_v<T, bfloat_t>)
    return bf16_to_f32(value.bits);
  else
    return value;
}

template <class To, class From> To saturate(From value) {
  using Limits = std::numeric_limits<To>;
  if constexpr (std::is_floating_point_v<From>) {
    // Both bounds as floats: the upper one is rounded up to a power of two where it has more digits than
    // From.
    if (std::isnan(value)) return 0;
    if (value <= static_cast<From>(Limits::min())) return Limits::min();
    if (value >= static_cast<From>(Limits::max())) return Limits::max();
    return static_cast<To>(value);
  } else {
    if (std::cmp_less(value, Limits::min())) return Limits::min();
    if (std::cmp_greater(value, Limits::max())) return Limits::max();
    return static_cast<To>(value);
  }
}

template <class To, class From> To convert(From value) {
  if constexpr (is_small_float<From>)
    return convert<To>(widen(value));
  else if constexpr (std::is_same_v<To, bool>)
    return value != From{};
  else if constexpr (std::is_same_v<From, bool>)
    return convert<To>(static_cast<uint8_t>(value));
  else if constexpr (std::is_same_v<To, half_t>)
    return {f32_to_f16(to_odd(static_cast<double>(value)))};
  else if constexpr (std::is_same_v<To, bfloat_t>)
    return {f32_to_bf16(to_odd(static_cast<double>(value)))};
  else if constexpr (std::is_floating_point_v<To>)
    return static_cast<To>(value);
  else
    return saturate<To>(value);
}

}  // namespace

void cast(DType from, const std::byte* in, int64_t count, DType to, std::byte* out) {
  if (from == to) {
    if (count > 0) std::memcpy(out, in, static_cast<size_t>(count) * size_of(to));
    return;
  }
  if (from == DType::f32 && to == DType::f16)
    return narrow_to_f16(reinterpret_cast<const float*>(in), count, reinterpret_cast<uint16_t*>(out));
  if (from == DType::f32 && to == DType::bf16)
    return narrow_to_bf16(reinterpret_cast<const float*>(in), count, reinterpret_cast<uint16_t*>(out));
  visit_dtype(from, [&]<class From>() {
    visit_dtype(to, [&]<class To>() {
      const auto* source = reinterpret_cast<const From*>(in);
      auto* target = reinterpret_cast<To*>(out);
      for (int64_t i = 0; i < count; ++i) target[i] = convert<To>(source[i]);
    });
  });
}

}  // namespace headrace::kernels
