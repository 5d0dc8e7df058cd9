#include "headrace/kernels/ycc.h"

#include <algorithm>

#include "headrace/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headrace/kernels/ycc.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After Highway.
#include "headrace/kernels/products-inl.h"

#ifndef HEADRACE_KERNELS_YCC_CONSTANTS
#define HEADRACE_KERNELS_YCC_CONSTANTS
namespace headrace::kernels {
// round(x * 2^16) of libjpeg's jdcolor.c: 1.402, 1.772, 0.71414, 0.34414.
inline constexpr int kCrToR = 91881, kCbToB = 116130, kCrToG = 46802, kCbToG = 22554;
inline constexpr int kHalf = 32768;
}  // namespace headrace::kernels
#endif

// The SIMD forms return how many samples they did; the scalar twins do the rest.
HWY_BEFORE_NAMESPACE();
namespace headrace::kernels {
namespace HWY_NAMESPACE {
#if HEADRACE_NO_SIMD

int64_t inner_h2(const uint8_t*, int64_t, uint8_t*) { return 1; }
int64_t inner_h2v2(const uint8_t*, const uint8_t*, int64_t, uint8_t*) { return 1; }
int64_t ycc_to_rgb(const uint8_t*, const uint8_t*, const uint8_t*, int64_t, uint8_t*) { return 0; }

#else
namespace hn = hwy::HWY_NAMESPACE;
using D16 = hn::ScalableTag<int16_t>;
using DU16 = hn::RebindToUnsigned<D16>;
using D8 = hn::Rebind<uint8_t, D16>;
using D32 = hn::RepartitionToWide<D16>;
using V16 = hn::Vec<D16>;

HWY_INLINE V16 load(const uint8_t* from) { return hn::PromoteTo(D16(), hn::LoadU(D8(), from)); }
HWY_INLINE V16 times3(V16 v) { return hn::Add(hn::Add(v, v), v); }

// Samples 1 … width - 2, those with two neighbours; returns the first that is left to do. `sum(i)` loads from
// i on.
template <int kShift, class Sum>
HWY_INLINE int64_t inner(int64_t width, int bias_even, int bias_odd, uint8_t* out, Sum sum) {
  const D16 d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto even_half = hn::Set(d, static_cast<int16_t>(bias_even));
  const auto odd_half = hn::Set(d, static_cast<int16_t>(bias_odd));
  int64_t i = 1;
  for (; i + lanes <= width - 1; i += lanes) {
    const V16 mine = times3(sum(i));
    const V16 even = hn::ShiftRight<kShift>(hn::Add(hn::Add(mine, sum(i - 1)), even_half));
    const V16 odd = hn::ShiftRight<kShift>(hn::Add(hn::Add(mine, sum(i + 1)), odd_half));
    hn::StoreInterleaved2(hn::DemoteTo(D8(), even), hn::DemoteTo(D8(), odd), D8(), out + 2 * i);
  }
  return i;
}

int64_t inner_h2(const uint8_t* in, int64_t width, uint8_t* out) {
  return inner<2>(width, 1, 2, out, [&](int64_t i) HWY_ATTR { return load(in + i); });
}

int64_t inner_h2v2(const uint8_t* near, const uint8_t* far, int64_t width, uint8_t* out) {
  return inner<4>(width, 8, 7, out,
                  [&](int64_t i) HWY_ATTR { return hn::Add(times3(load(near + i)), load(far + i)); });
}

// (c * v + 2^15) >> 16.
HWY_INLINE V16 scaled(V16 v, int c) {
  const auto factor = hn::Set(D16(), static_cast<int16_t>(c));
  const auto low = hn::BitCast(DU16(), hn::Mul(v, factor));
  return hn::Add(hn::MulHigh(v, factor), hn::BitCast(D16(), hn::ShiftRight<15>(low)));
}

// (cx * x + cz * z + 2^15) >> 16.
HWY_INLINE V16 scaled_sum(V16 x, int cx, V16 z, int cz) {
  const D16 d;
  const D32 d32;
  const auto c = hn::BitCast(d, hn::Set(d32, static_cast<int32_t>(static_cast<uint32_t>(cz) << 16 |
                                                                  (static_cast<uint32_t>(cx) & 0xFFFF))));
  const auto half = hn::Set(d32, kHalf);
  const auto low = hn::ShiftRight<16>(add_products(half, hn::InterleaveLower(d, x, z), c));
  const auto high = hn::ShiftRight<16>(add_products(half, hn::InterleaveUpper(d, x, z), c));
  return hn::ReorderDemote2To(d, low, high);
}

struct Pixels {
  hn::Vec<D8> r, g, b;
};

// Factors beyond 16 bits are split: 91881 = 65536 + 26345, 116130 = 2 * 65536 - 14942, -46802 = -65536 +
// 18734.
HWY_INLINE Pixels convert(const uint8_t* y, const uint8_t* cb, const uint8_t* cr) {
  const auto middle = hn::Set(D16(), 128);
  const V16 luma = load(y);
  const V16 x = hn::Sub(load(cb), middle), z = hn::Sub(load(cr), middle);
  const V16 r = hn::Add(hn::Add(luma, z), scaled(z, kCrToR - 65536));
  const V16 b = hn::Add(hn::Add(luma, hn::Add(x, x)), scaled(x, kCbToB - 2 * 65536));
  const V16 g = hn::Add(hn::Sub(luma, z), scaled_sum(x, -kCbToG, z, 65536 - kCrToG));
  return {hn::DemoteTo(D8(), r), hn::DemoteTo(D8(), g), hn::DemoteTo(D8(), b)};
}

// Two halves at a time, so that whole vectors are interleaved; the last ones overlap those before.
int64_t ycc_to_rgb(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, int64_t count, uint8_t* rgb) {
  const hn::ScalableTag<uint8_t> d;
  const auto half = static_cast<int64_t>(hn::Lanes(D8()));
  if (count < 2 * half) return 0;
  for (int64_t next = 0; next < count; next += 2 * half) {
    const int64_t i = std::min(next, count - 2 * half);
    const Pixels low = convert(y + i, cb + i, cr + i);
    const Pixels high = convert(y + i + half, cb + i + half, cr + i + half);
    hn::StoreInterleaved3(hn::Combine(d, high.r, low.r), hn::Combine(d, high.g, low.g),
                          hn::Combine(d, high.b, low.b), d, rgb + 3 * i);
  }
  return count;
}

#endif
}  // namespace HWY_NAMESPACE
}  // namespace headrace::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::kernels {
namespace {

HWY_EXPORT(inner_h2);
HWY_EXPORT(inner_h2v2);
HWY_EXPORT(ycc_to_rgb);

uint8_t clamped(int v) { return static_cast<uint8_t>(std::clamp(v, 0, 255)); }

// The first sample and those from `first` on. `sum(i)` is the value of column i.
template <int kShift, class Sum>
void stretch(int64_t first, int64_t width, int bias_even, int bias_odd, uint8_t* out, Sum sum) {
  const auto blend = [&](int64_t i, int64_t neighbour, int bias) {
    return static_cast<uint8_t>((3 * sum(i) + sum(neighbour) + bias) >> kShift);
  };
  for (int64_t i = 0; i < width; i = i == 0 ? first : i + 1) {
    out[2 * i] = blend(i, std::max<int64_t>(i - 1, 0), bias_even);
    out[2 * i + 1] = blend(i, std::min(i + 1, width - 1), bias_odd);
  }
}

}  // namespace

void upsample_h2(const uint8_t* in, int64_t width, uint8_t* out) {
  const int64_t first = HWY_DYNAMIC_DISPATCH(inner_h2)(in, width, out);
  stretch<2>(first, width, 1, 2, out, [&](int64_t i) -> int { return in[i]; });
}
void upsample_h2_scalar(const uint8_t* in, int64_t width, uint8_t* out) {
  stretch<2>(1, width, 1, 2, out, [&](int64_t i) -> int { return in[i]; });
}

void upsample_h2v2(const uint8_t* near, const uint8_t* far, int64_t width, uint8_t* out) {
  const int64_t first = HWY_DYNAMIC_DISPATCH(inner_h2v2)(near, far, width, out);
  stretch<4>(first, width, 8, 7, out, [&](int64_t i) { return 3 * near[i] + far[i]; });
}
void upsample_h2v2_scalar(const uint8_t* near, const uint8_t* far, int64_t width, uint8_t* out) {
  stretch<4>(1, width, 8, 7, out, [&](int64_t i) { return 3 * near[i] + far[i]; });
}

void upsample_v2(const uint8_t* near, const uint8_t* far, int64_t width, int bias, uint8_t* out) {
  for (int64_t i = 0; i < width; ++i) out[i] = static_cast<uint8_t>((3 * near[i] + far[i] + bias) >> 2);
}

void ycc_to_rgb(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, int64_t count, uint8_t* rgb) {
  const int64_t done = HWY_DYNAMIC_DISPATCH(ycc_to_rgb)(y, cb, cr, count, rgb);
  ycc_to_rgb_scalar(y + done, cb + done, cr + done, count - done, rgb + 3 * done);
}

void ycc_to_rgb_scalar(const uint8_t* y, const uint8_t* cb, const uint8_t* cr, int64_t count, uint8_t* rgb) {
  for (int64_t i = 0; i < count; ++i, rgb += 3) {
    const int x = cb[i] - 128, z = cr[i] - 128;
    rgb[0] = clamped(y[i] + ((kCrToR * z + kHalf) >> 16));
    rgb[1] = clamped(y[i] + ((-kCbToG * x - kCrToG * z + kHalf) >> 16));
    rgb[2] = clamped(y[i] + ((kCbToB * x + kHalf) >> 16));
  }
}

}  // namespace headrace::kernels
#endif
