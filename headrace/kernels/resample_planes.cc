#include "headrace/kernels/resample_planes.h"

#include <algorithm>

#include "headrace/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headrace/kernels/resample_planes.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After Highway.
#include "headrace/kernels/products-inl.h"
#include "headrace/kernels/transpose-inl.h"

#ifndef HEADRACE_KERNELS_RESAMPLE_PLANES_CONSTANTS
#define HEADRACE_KERNELS_RESAMPLE_PLANES_CONSTANTS
namespace headrace::kernels {

inline constexpr int kAcrossBits = 6, kMixedBits = 5;
// round(x * 2^14) of the factors of JFIF 1.02.
inline constexpr int16_t k1_402 = 22970, k1_772 = 29032, k0_344 = 5638, k0_714 = 11700;
inline constexpr int16_t kGrey = 128 << kMixedBits;

}  // namespace headrace::kernels
#endif

// The SIMD forms return false, or how many columns they did, where the scalar twins must do the rest.
HWY_BEFORE_NAMESPACE();
namespace headrace::kernels {
namespace HWY_NAMESPACE {
#if HEADRACE_NO_SIMD

bool across(const int16_t*, int64_t, const PlaneTaps&, bool, int16_t* const*) { return false; }
bool to_rgb(int16_t*, int16_t*, int16_t*, int64_t) { return false; }
bool mix_bytes(const MixedRow&, int64_t, uint8_t*) { return false; }
bool mix_rgb(const MixedRow&, const MixedRow&, const MixedRow&, int64_t, uint8_t* const*) { return false; }

#else
namespace hn = hwy::HWY_NAMESPACE;

using D32 = hn::Repartition<int32_t, D16>;
constexpr size_t kLanes = hn::MaxLanes(D16());

HWY_INLINE V16 product(const int16_t* samples, int32_t weight) {
  return hn::MulFixedPoint15(hn::LoadU(D16(), samples), hn::BitCast(D16(), hn::Set(D32(), weight)));
}

// The sum of `window` columns, or rows, at `at(k)`. A window known to the compiler is unrolled; kAny is not,
// and kLong is too long for products that are rounded one by one.
constexpr int kAny = 0, kLong = -1;

template <class At> HWY_INLINE V16 long_sum(int32_t window, const int32_t* weights, At&& at) {
  const D16 d;
  const D32 d32;
  auto low = hn::Zero(d32), high = low;
  for (int32_t k = 0; k < window; k += 2) {
    const bool has_two = k + 1 < window;
    const V16 a = hn::LoadU(d, at(k)), b = hn::LoadU(d, at(has_two ? k + 1 : k));
    const uint32_t second = has_two ? static_cast<uint32_t>(weights[k + 1]) & 0xFFFF0000u : 0;
    const uint32_t pair = second | (static_cast<uint32_t>(weights[k]) & 0xFFFFu);
    const V16 weight = hn::BitCast(d, hn::Set(d32, static_cast<int32_t>(pair)));
    low = add_products(low, hn::InterleaveLower(d, a, b), weight);
    high = add_products(high, hn::InterleaveUpper(d, a, b), weight);
  }
  const auto half = hn::Set(d32, 1 << 14);
  return hn::ReorderDemote2To(d, hn::ShiftRight<15>(hn::Add(low, half)),
                              hn::ShiftRight<15>(hn::Add(high, half)));
}

template <int kWindow, class At> HWY_INLINE V16 sum_of(int32_t window, const int32_t* weights, At&& at) {
  if constexpr (kWindow == kLong) return long_sum(window, weights, at);
  V16 sum = product(at(0), weights[0]);
  const int32_t end = kWindow == kAny ? window : kWindow;
  for (int32_t k = 1; k < end; ++k) sum = hn::Add(sum, product(at(k), weights[k]));
  return sum;
}

// Calls f with the window as a constant where it is a common one.
template <class F> HWY_INLINE void with_window(int32_t window, bool is_long, F&& f) {
  if (is_long) return f(std::integral_constant<int, kLong>());
  switch (window) {
    case 2: return f(std::integral_constant<int, 2>());
    case 3: return f(std::integral_constant<int, 3>());
    case 4: return f(std::integral_constant<int, 4>());
    case 5: return f(std::integral_constant<int, 5>());
    default: return f(std::integral_constant<int, kAny>());
  }
}

// To the nearest byte, from `kBits` fraction bits to `kAfter`.
template <int kBits, int kAfter> HWY_INLINE V16 rounded_to_byte(V16 v) {
  const D16 d;
  const V16 rounded = hn::ShiftRight<kBits>(hn::Add(v, hn::Set(d, 1 << (kBits - 1))));
  return hn::ShiftLeft<kAfter>(hn::Min(hn::Max(rounded, hn::Zero(d)), hn::Set(d, 255)));
}

// Eight columns of results, transposed into rows.
template <int kWindow, bool kRounded> HWY_INLINE void eight_columns(const int16_t* strip, int64_t origin,
                                                                    const PlaneTaps& taps, int64_t x,
                                                                    int16_t* const* rows) {
  for (size_t half = 0; half < kStripRows; half += kLanes) {
    V16 v[8];
    for (int64_t i = 0; i < 8; ++i) {
      const int16_t* column = strip + kStripRows * (taps.first[x + i] - origin) + half;
      v[i] = sum_of<kWindow>(taps.window, taps.weights_of(x + i),
                             [&](int32_t k) { return column + kStripRows * k; });
      if constexpr (kRounded) v[i] = rounded_to_byte<kAcrossBits, kAcrossBits>(v[i]);
    }
    transpose(v);
    for (size_t r = 0; r < 8; ++r) {
      if constexpr (kLanes == 16) {
        const hn::Half<D16> d_half;
        hn::StoreU(hn::LowerHalf(d_half, v[r]), d_half, rows[r] + x);
        hn::StoreU(hn::UpperHalf(d_half, v[r]), d_half, rows[8 + r] + x);
      } else {
        hn::StoreU(v[r], D16(), rows[half + r] + x);
      }
    }
  }
}

bool across(const int16_t* strip, int64_t origin, const PlaneTaps& taps, bool rounded, int16_t* const* rows) {
  with_window(taps.window, taps.is_long, [&](auto window) HWY_ATTR {
    for (int64_t x = 0; x < taps.count; x += 8)
      if (rounded)
        eight_columns<window(), true>(strip, origin, taps, x, rows);
      else
        eight_columns<window(), false>(strip, origin, taps, x, rows);
  });
  return true;
}

struct Rgb {
  V16 r, g, b;
};
// kMixedBits fraction bits for `y` and the result, one more for the two of chroma, which are around zero.
HWY_INLINE Rgb matrix(V16 y, V16 u, V16 v) {
  const auto times = [](V16 a, int16_t factor)
                         HWY_ATTR { return hn::MulFixedPoint15(a, hn::Set(D16(), factor)); };
  return {hn::Add(y, times(v, k1_402)), hn::Sub(hn::Sub(y, times(u, k0_344)), times(v, k0_714)),
          hn::Add(y, times(u, k1_772))};
}

bool to_rgb(int16_t* y, int16_t* cb, int16_t* cr, int64_t columns) {
  const D16 d;
  const V16 grey = hn::Set(d, 128 << kSampleBits);
  for (int64_t i = 0; i < columns * kStripRows; i += kLanes) {
    const auto chroma = [&](const int16_t* of) HWY_ATTR {
      return hn::ShiftRight<kSampleBits - kMixedBits - 1>(hn::Sub(hn::Load(d, of + i), grey));
    };
    const Rgb rgb =
        matrix(hn::ShiftRight<kSampleBits - kMixedBits>(hn::Load(d, y + i)), chroma(cb), chroma(cr));
    hn::Store(rounded_to_byte<kMixedBits, kSampleBits>(rgb.r), d, y + i);
    hn::Store(rounded_to_byte<kMixedBits, kSampleBits>(rgb.g), d, cb + i);
    hn::Store(rounded_to_byte<kMixedBits, kSampleBits>(rgb.b), d, cr + i);
  }
  return true;
}

template <int kWindow> HWY_INLINE V16 mixed(const MixedRow& row, int64_t x) {
  return sum_of<kWindow>(row.window, row.weights, [&](int32_t k) { return row.rows[k] + x; });
}

// To 8 bits.
HWY_INLINE void store_bytes(V16 v, uint8_t* out) {
  const V16 rounded = hn::ShiftRight<kMixedBits>(hn::Add(v, hn::Set(D16(), 1 << (kMixedBits - 1))));
  hn::StoreU(hn::DemoteTo(hn::Rebind<uint8_t, D16>(), rounded), hn::Rebind<uint8_t, D16>(), out);
}

bool mix_bytes(const MixedRow& row, int64_t width, uint8_t* out) {
  with_window(row.window, row.is_long, [&](auto window) HWY_ATTR {
    for (int64_t x = 0; x < width; x += kLanes) store_bytes(mixed<window()>(row, x), out + x);
  });
  return true;
}

template <int kLuma, int kChroma> HWY_INLINE void rgb_vector(const MixedRow& luma, const MixedRow& cb,
                                                             const MixedRow& cr, int64_t x,
                                                             uint8_t* const* rgb) {
  const V16 grey = hn::Set(D16(), kGrey);
  const V16 u = hn::ShiftLeft<1>(hn::Sub(mixed<kChroma>(cb, x), grey));
  const V16 v = hn::ShiftLeft<1>(hn::Sub(mixed<kChroma>(cr, x), grey));
  const Rgb of = matrix(mixed<kLuma>(luma, x), u, v);
  store_bytes(of.r, rgb[0] + x);
  store_bytes(of.g, rgb[1] + x);
  store_bytes(of.b, rgb[2] + x);
}

bool mix_rgb(const MixedRow& luma, const MixedRow& cb, const MixedRow& cr, int64_t width,
             uint8_t* const* rgb) {
  with_window(luma.window, luma.is_long, [&](auto window) HWY_ATTR {
    if (cb.window == luma.window && cb.is_long == luma.is_long)
      for (int64_t x = 0; x < width; x += kLanes) rgb_vector<window(), window()>(luma, cb, cr, x, rgb);
    else if (cb.is_long)
      for (int64_t x = 0; x < width; x += kLanes) rgb_vector<window(), kLong>(luma, cb, cr, x, rgb);
    else
      for (int64_t x = 0; x < width; x += kLanes) rgb_vector<window(), kAny>(luma, cb, cr, x, rgb);
  });
  return true;
}

#endif
}  // namespace HWY_NAMESPACE
}  // namespace headrace::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::kernels {
namespace {

HWY_EXPORT(across);
HWY_EXPORT(to_rgb);
HWY_EXPORT(mix_bytes);
HWY_EXPORT(mix_rgb);

int16_t product(int a, int32_t weight) {
  return static_cast<int16_t>((a * static_cast<int16_t>(weight) + (1 << 14)) >> 15);
}

template <int kBits> uint8_t to_byte(int v) {
  const auto rounded = static_cast<int16_t>(v + (1 << (kBits - 1)));
  return static_cast<uint8_t>(std::clamp(rounded >> kBits, 0, 255));
}

struct Pixel {
  uint8_t r, g, b;
};
Pixel matrix_scalar(int y, int u, int v) {
  return {to_byte<kMixedBits>(y + product(v, k1_402)),
          to_byte<kMixedBits>(y - product(u, k0_344) - product(v, k0_714)),
          to_byte<kMixedBits>(y + product(u, k1_772))};
}

// The sum of at(k) * weights[k].
template <class At> int16_t sum_of(int32_t window, bool is_long, const int32_t* weights, At&& at) {
  int sum = 0;
  for (int32_t k = 0; k < window; ++k)
    sum += is_long ? at(k) * static_cast<int16_t>(weights[k]) : product(at(k), weights[k]);
  if (is_long) return static_cast<int16_t>(std::clamp((sum + (1 << 14)) >> 15, -32768, 32767));
  return static_cast<int16_t>(sum);
}

int16_t mixed(const MixedRow& row, int64_t x) {
  return sum_of(row.window, row.is_long, row.weights, [&](int32_t k) -> int { return row.rows[k][x]; });
}

}  // namespace

void resample_strip(const int16_t* strip, int64_t origin, const PlaneTaps& taps, bool rounded,
                    int16_t* const* rows) {
  if (!HWY_DYNAMIC_DISPATCH(across)(strip, origin, taps, rounded, rows))
    resample_strip_scalar(strip, origin, taps, rounded, rows);
}

void resample_strip_scalar(const int16_t* strip, int64_t origin, const PlaneTaps& taps, bool rounded,
                           int16_t* const* rows) {
  for (int64_t x = 0; x < taps.count; ++x) {
    const int16_t* column = strip + kStripRows * (taps.first[x] - origin);
    for (int r = 0; r < kStripRows; ++r) {
      const int16_t mixed = sum_of(taps.window, taps.is_long, taps.weights_of(x),
                                   [&](int32_t k) -> int { return column[kStripRows * k + r]; });
      rows[r][x] = rounded ? static_cast<int16_t>(to_byte<kAcrossBits>(mixed) << kAcrossBits) : mixed;
    }
  }
}

void strips_to_rgb(int16_t* y, int16_t* cb, int16_t* cr, int64_t columns) {
  if (!HWY_DYNAMIC_DISPATCH(to_rgb)(y, cb, cr, columns)) strips_to_rgb_scalar(y, cb, cr, columns);
}

void strips_to_rgb_scalar(int16_t* y, int16_t* cb, int16_t* cr, int64_t columns) {
  const auto chroma = [](int sample) {
    return (sample - (128 << kSampleBits)) >> (kSampleBits - kMixedBits - 1);
  };
  for (int64_t i = 0; i < columns * kStripRows; ++i) {
    const Pixel pixel = matrix_scalar(y[i] >> (kSampleBits - kMixedBits), chroma(cb[i]), chroma(cr[i]));
    y[i] = static_cast<int16_t>(pixel.r << kSampleBits);
    cb[i] = static_cast<int16_t>(pixel.g << kSampleBits);
    cr[i] = static_cast<int16_t>(pixel.b << kSampleBits);
  }
}

void mix_to_bytes(const MixedRow& row, int64_t width, uint8_t* out) {
  if (!HWY_DYNAMIC_DISPATCH(mix_bytes)(row, width, out)) mix_to_bytes_scalar(row, width, out);
}

void mix_to_bytes_scalar(const MixedRow& row, int64_t width, uint8_t* out) {
  for (int64_t x = 0; x < width; ++x) out[x] = to_byte<kMixedBits>(mixed(row, x));
}

void mix_to_rgb(const MixedRow& luma, const MixedRow& cb, const MixedRow& cr, int64_t width,
                uint8_t* const* rgb) {
  if (!HWY_DYNAMIC_DISPATCH(mix_rgb)(luma, cb, cr, width, rgb)) mix_to_rgb_scalar(luma, cb, cr, width, rgb);
}

void mix_to_rgb_scalar(const MixedRow& luma, const MixedRow& cb, const MixedRow& cr, int64_t width,
                       uint8_t* const* rgb) {
  for (int64_t x = 0; x < width; ++x) {
    const auto u = static_cast<int16_t>(2 * (mixed(cb, x) - kGrey));
    const auto v = static_cast<int16_t>(2 * (mixed(cr, x) - kGrey));
    const Pixel pixel = matrix_scalar(mixed(luma, x), u, v);
    rgb[0][x] = pixel.r, rgb[1][x] = pixel.g, rgb[2][x] = pixel.b;
  }
}

}  // namespace headrace::kernels
#endif
