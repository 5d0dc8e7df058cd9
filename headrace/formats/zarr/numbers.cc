#include "headrace/formats/zarr/numbers.h"

#include <cstring>

#include "headrace/core/little_endian.h"

namespace headrace::zarr {
namespace {

template <class T> void swap_all(std::byte* at, size_t count) {
  for (size_t i = 0; i < count; ++i, at += sizeof(T)) {
    auto value = load<T>(at);
    if constexpr (sizeof(T) == 2) value = __builtin_bswap16(value);
    if constexpr (sizeof(T) == 4) value = __builtin_bswap32(value);
    if constexpr (sizeof(T) == 8) value = __builtin_bswap64(value);
    std::memcpy(at, &value, sizeof(T));
  }
}

}  // namespace

void swap_elements(std::span<std::byte> bytes, size_t each) {
  if (each == 2) swap_all<uint16_t>(bytes.data(), bytes.size() / 2);
  if (each == 4) swap_all<uint32_t>(bytes.data(), bytes.size() / 4);
  if (each == 8) swap_all<uint64_t>(bytes.data(), bytes.size() / 8);
}

namespace {

// Values for arithmetic: 16-bit floats are widened to 32 bits.
template <class T> double number_at(const std::byte* at) {
  if constexpr (std::is_same_v<T, half_t>)
    return f16_to_f32(load<half_t>(at).bits);
  else if constexpr (std::is_same_v<T, bfloat_t>)
    return bf16_to_f32(load<bfloat_t>(at).bits);
  else
    return static_cast<double>(load<T>(at));
}
template <class T> T from_number(double value) {
  if constexpr (std::is_same_v<T, half_t>)
    return half_t{f32_to_f16(static_cast<float>(value))};
  else if constexpr (std::is_same_v<T, bfloat_t>)
    return bfloat_t{f32_to_bf16(static_cast<float>(value))};
  else if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(value);
  else {  // out-of-range values become arbitrary numbers, without a trap
    if (!(value > -9.2e18 && value < 1.8e19)) return T{};
    return value < 0 ? static_cast<T>(static_cast<int64_t>(value))
                     : static_cast<T>(static_cast<uint64_t>(value));
  }
}

template <class Stored, class Plain> void undo_delta(const std::byte* in, size_t count, std::byte* out) {
  if constexpr (std::is_integral_v<Stored> && std::is_integral_v<Plain>) {
    uint64_t sum = 0;  // wraps around
    for (size_t i = 0; i < count; ++i) {
      sum += static_cast<uint64_t>(load<Stored>(in + i * sizeof(Stored)));
      const auto value = static_cast<Plain>(sum);
      std::memcpy(out + i * sizeof(Plain), &value, sizeof value);
    }
  } else {
    Plain sum = from_number<Plain>(0);
    for (size_t i = 0; i < count; ++i) {
      const double before = number_at<Plain>(reinterpret_cast<const std::byte*>(&sum));
      if constexpr (std::is_same_v<Plain, float>)
        sum = static_cast<float>(before) + static_cast<float>(number_at<Stored>(in + i * sizeof(Stored)));
      else
        sum = from_number<Plain>(before + number_at<Stored>(in + i * sizeof(Stored)));
      std::memcpy(out + i * sizeof(Plain), &sum, sizeof sum);
    }
  }
}

template <class Stored, class Plain>
void undo_scale(const NumberFilter& filter, const std::byte* in, size_t count, std::byte* out) {
  for (size_t i = 0; i < count; ++i) {
    Plain value;
    const double stored = number_at<Stored>(in + i * sizeof(Stored));
    if constexpr (std::is_same_v<Stored, float>)
      value = from_number<Plain>(static_cast<float>(stored) / static_cast<float>(filter.scale) +
                                 static_cast<float>(filter.offset));
    else
      value = from_number<Plain>(stored / filter.scale + filter.offset);
    std::memcpy(out + i * sizeof(Plain), &value, sizeof value);
  }
}

}  // namespace

void undo_filter(const NumberFilter& filter, const std::byte* in, size_t count, std::byte* out) {
  visit_dtype(filter.stored, [&]<class Stored>() {
    visit_dtype(filter.plain, [&]<class Plain>() {
      if (filter.kind == NumberFilter::Kind::delta)
        undo_delta<Stored, Plain>(in, count, out);
      else
        undo_scale<Stored, Plain>(filter, in, count, out);
    });
  });
}

}  // namespace headrace::zarr
