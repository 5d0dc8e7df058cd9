#include "headrace/kernels/idct_reduced.h"

#include <algorithm>
#include <cstring>

#include "headrace/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headrace/kernels/idct_reduced.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After Highway.
#include "headrace/kernels/transpose-inl.h"

#ifndef HEADRACE_KERNELS_IDCT_REDUCED_CONSTANTS
#define HEADRACE_KERNELS_IDCT_REDUCED_CONSTANTS
namespace headrace::kernels {

// The weight of coefficient u in the mean of the 8 / side pixels from x = 8 / side * k on, times 2^15: the
// mean of cos((2 x + 1) u pi / 16), and for u = 0 the square root of a half. The missing half of the
// transform's factor is the fraction bit that each pass gains. The outputs from side / 2 on mirror the
// others: odd coefficients count negative.
inline constexpr int kOf4[2][8] = {{23170, 29692, 21407, 10426, 0, -6967, -8867, -5906},
                                   {23170, 12299, -21407, -25172, 0, 16819, 8867, -2446}};
inline constexpr int kOf2[1][8] = {{23170, 20995, 0, -7373, 0, 4926, 0, -4176}};
inline constexpr int kOf1 = 23170;
template <int kSide> constexpr const int* weights_of(int k) {
  if constexpr (kSide == 4) return kOf4[k];
  return kOf2[0];
}
inline constexpr int kInputBits = 4;
inline constexpr int16_t kGrey = 128 << kSampleBits, kWhite = 255 << kSampleBits;

}  // namespace headrace::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace headrace::kernels {
namespace HWY_NAMESPACE {
#if HEADRACE_NO_SIMD

void idct_pair_reduced(int side, const int16_t* coefficients, const uint16_t* quant, int16_t* out0,
                       int16_t* out1) {
  idct_pair_reduced_scalar(side, coefficients, quant, out0, out1);
}

#else
namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE V16 product(V16 value, int weight) {
  return hn::MulFixedPoint15(value, hn::Set(D16(), static_cast<int16_t>(weight)));
}

template <int kSide> HWY_INLINE V16 even_sum(const V16* v, const int* weights) {
  V16 sum = product(v[0], weights[0]);
  if constexpr (kSide == 4) {
    sum = hn::SaturatedAdd(sum, product(v[2], weights[2]));
    sum = hn::SaturatedAdd(sum, product(v[6], weights[6]));
  }
  return sum;
}

HWY_INLINE V16 odd_sum(const V16* v, const int* weights) {
  V16 sum = hn::SaturatedAdd(product(v[1], weights[1]), product(v[3], weights[3]));
  sum = hn::SaturatedAdd(sum, product(v[5], weights[5]));
  return hn::SaturatedAdd(sum, product(v[7], weights[7]));
}

// Eight coefficients, one in each vector, to kSide samples.
template <int kSide> HWY_INLINE void reduce(V16* v) {
  const V16 even0 = even_sum<kSide>(v, weights_of<kSide>(0)), odd0 = odd_sum(v, weights_of<kSide>(0));
  if constexpr (kSide == 4) {
    const V16 even1 = even_sum<kSide>(v, weights_of<kSide>(1)), odd1 = odd_sum(v, weights_of<kSide>(1));
    v[1] = hn::SaturatedAdd(even1, odd1);
    v[2] = hn::SaturatedSub(even1, odd1);
  }
  v[0] = hn::SaturatedAdd(even0, odd0);
  v[kSide - 1] = hn::SaturatedSub(even0, odd0);
}

template <int kSide>
HWY_INLINE void pair(const int16_t* coefficients, const uint16_t* quant, int16_t* out0, int16_t* out1) {
  const D16 d;
  const auto zero = hn::Zero(d), grey = hn::Set(d, kGrey), white = hn::Set(d, kWhite);
  for (size_t b = 0; b < 16; b += hn::Lanes(d)) {
    V16 v[8];
    for (size_t row = 0; row < 8; ++row)
      v[row] = hn::ShiftLeft<kInputBits>(
          hn::Mul(hn::Load(d, coefficients + kPairStride * row + b),
                  hn::Load(d, reinterpret_cast<const int16_t*>(quant) + kPairStride * row + b)));
    reduce<kSide>(v);
    for (size_t k = kSide; k < 8; ++k) v[k] = zero;
    transpose(v);
    reduce<kSide>(v);
    for (size_t x = 0; x < kSide; ++x) {
      const V16 samples = hn::SaturatedAdd(hn::SaturatedAdd(v[x], v[x]), grey);
      alignas(32) int16_t column[16];
      hn::Store(hn::Min(hn::Max(samples, zero), white), d, column);
      std::memcpy((b == 0 ? out0 : out1) + kStripRows * x, column, kSide * sizeof(int16_t));
      if (hn::Lanes(d) == 16) std::memcpy(out1 + kStripRows * x, column + 8, kSide * sizeof(int16_t));
    }
  }
}

void idct_pair_reduced(int side, const int16_t* coefficients, const uint16_t* quant, int16_t* out0,
                       int16_t* out1) {
  if (side == 4) return pair<4>(coefficients, quant, out0, out1);
  if (side == 2) return pair<2>(coefficients, quant, out0, out1);
  idct_dc_reduced(1, coefficients[0], quant[0], out0);
  idct_dc_reduced(1, coefficients[8], quant[8], out1);
}

#endif
}  // namespace HWY_NAMESPACE
}  // namespace headrace::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::kernels {
namespace {

HWY_EXPORT(idct_pair_reduced);

int16_t saturated(int v) { return static_cast<int16_t>(std::clamp(v, -32768, 32767)); }
int16_t product_scalar(int16_t value, int weight) {
  return static_cast<int16_t>((value * weight + (1 << 14)) >> 15);
}
int16_t dequantised(int coefficient, int quant) {
  return static_cast<int16_t>(static_cast<unsigned>(coefficient * quant) << kInputBits);
}
int16_t sample(int16_t v) { return std::clamp<int16_t>(saturated(saturated(2 * v) + kGrey), 0, kWhite); }

// Eight coefficients that are `step` apart to kSide samples.
template <int kSide> void reduce_scalar(int16_t* v, int step) {
  int16_t out[kSide];
  for (int k = 0; k < kSide / 2; ++k) {
    const int* const weights = weights_of<kSide>(k);
    const auto of = [&](int u) { return product_scalar(v[u * step], weights[u]); };
    int16_t even = of(0), odd = of(1);
    if (kSide == 4)
      for (const int u : {2, 6}) even = saturated(even + of(u));
    for (const int u : {3, 5, 7}) odd = saturated(odd + of(u));
    out[k] = saturated(even + odd);
    out[kSide - 1 - k] = saturated(even - odd);
  }
  for (int k = 0; k < kSide; ++k) v[k * step] = out[k];
}

template <int kSide>
void pair_scalar(const int16_t* coefficients, const uint16_t* quant, int16_t* const* out) {
  for (int b = 0; b < 2; ++b) {
    int16_t v[64];
    for (int at = 0; at < 64; ++at) {
      const int from = kPairStride * (at / 8) + 8 * b + at % 8;
      v[at] = dequantised(coefficients[from], quant[from]);
    }
    for (int u = 0; u < 8; ++u) reduce_scalar<kSide>(v + u, 8);
    for (int y = 0; y < kSide; ++y) {
      reduce_scalar<kSide>(v + 8 * y, 1);
      for (int x = 0; x < kSide; ++x) out[b][kStripRows * x + y] = sample(v[8 * y + x]);
    }
  }
}

}  // namespace

void idct_pair_reduced(int side, const int16_t* coefficients, const uint16_t* quant, int16_t* out0,
                       int16_t* out1) {
  HWY_DYNAMIC_DISPATCH(idct_pair_reduced)(side, coefficients, quant, out0, out1);
}

void idct_pair_reduced_scalar(int side, const int16_t* coefficients, const uint16_t* quant, int16_t* out0,
                              int16_t* out1) {
  int16_t* const out[] = {out0, out1};
  if (side == 4) return pair_scalar<4>(coefficients, quant, out);
  if (side == 2) return pair_scalar<2>(coefficients, quant, out);
  for (int b = 0; b < 2; ++b) idct_dc_reduced(1, coefficients[8 * b], quant[8 * b], out[b]);
}

void idct_dc_reduced(int side, int coefficient, int quant, int16_t* out) {
  const int16_t grey = sample(product_scalar(product_scalar(dequantised(coefficient, quant), kOf1), kOf1));
  for (int x = 0; x < side; ++x) std::fill_n(out + kStripRows * x, side, grey);
}

}  // namespace headrace::kernels
#endif
