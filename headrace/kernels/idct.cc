#include "headrace/kernels/idct.h"

#include <algorithm>
#include <cstring>

#include "headrace/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headrace/kernels/idct.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// After Highway.
#include "headrace/kernels/products-inl.h"
#include "headrace/kernels/transpose-inl.h"

#ifndef HEADRACE_KERNELS_IDCT_CONSTANTS
#define HEADRACE_KERNELS_IDCT_CONSTANTS
namespace headrace::kernels {

inline constexpr int kConstBits = 13, kPass1Bits = 2;
// round(x * 2^13) of the names in libjpeg's jidctint.c.
inline constexpr int kF0_298 = 2446, kF0_390 = 3196, kF0_541 = 4433, kF0_765 = 6270, kF0_899 = 7373,
                     kF1_175 = 9633, kF1_501 = 12299, kF1_847 = 15137, kF1_961 = 16069, kF2_053 = 16819,
                     kF2_562 = 20995, kF3_072 = 25172;
// libjpeg-turbo skips the first step for a block whose lower rows are empty; that gives the same bytes while
// the first row, dequantised, is within this bound.
inline constexpr int kMostInput = 8191;

}  // namespace headrace::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace headrace::kernels {
namespace HWY_NAMESPACE {
#if HEADRACE_NO_SIMD

bool idct_pair(const int16_t* coefficients, const uint16_t* quant, uint8_t* out0, uint8_t* out1,
               size_t stride) {
  return idct_pair_scalar(coefficients, quant, out0, out1, stride);
}
bool idct_pair_columns(const int16_t* coefficients, const uint16_t* quant, int16_t* out0, int16_t* out1) {
  return idct_pair_columns_scalar(coefficients, quant, out0, out1);
}

#else
namespace hn = hwy::HWY_NAMESPACE;

using D32 = hn::Repartition<int32_t, D16>;
using V32 = hn::Vec<D32>;

struct Wide {  // eight 32-bit values for eight of 16 bits: the lower and the upper four
  V32 low, high;
};
HWY_INLINE Wide operator+(Wide a, Wide b) { return {hn::Add(a.low, b.low), hn::Add(a.high, b.high)}; }
HWY_INLINE Wide operator-(Wide a, Wide b) { return {hn::Sub(a.low, b.low), hn::Sub(a.high, b.high)}; }

// x * cx + y * cy.
HWY_INLINE Wide rotate(V16 x, V16 y, int cx, int cy) {
  const D16 d;
  const auto c = hn::BitCast(d, hn::Set(D32(), static_cast<int32_t>(static_cast<uint32_t>(cy) << 16 |
                                                                    (static_cast<uint32_t>(cx) & 0xFFFF))));
  const auto none = hn::Zero(D32());
  return {add_products(none, hn::InterleaveLower(d, x, y), c),
          add_products(none, hn::InterleaveUpper(d, x, y), c)};
}

// v << 13 in 32 bits.
HWY_INLINE Wide scaled(V16 v) {
  const D16 d;
  const D32 d32;
  const auto zero = hn::Zero(d);
  const auto up = [&](V16 x) { return hn::ShiftRight<16 - kConstBits>(hn::BitCast(d32, x)); };
  return {up(hn::InterleaveLower(d, zero, v)), up(hn::InterleaveUpper(d, zero, v))};
}

template <int kShift> HWY_INLINE V16 descale(Wide v) {
  const auto half = hn::Set(D32(), 1 << (kShift - 1));
  return hn::ReorderDemote2To(D16(), hn::ShiftRight<kShift>(hn::Add(v.low, half)),
                              hn::ShiftRight<kShift>(hn::Add(v.high, half)));
}

// The transform of eight values, one in each vector.
template <int kShift> HWY_INLINE void transform(V16* v) {
  const Wide e2 = rotate(v[2], v[6], kF0_541, kF0_541 - kF1_847);
  const Wide e3 = rotate(v[2], v[6], kF0_541 + kF0_765, kF0_541);
  const Wide e0 = scaled(hn::Add(v[0], v[4])), e1 = scaled(hn::Sub(v[0], v[4]));
  const Wide t10 = e0 + e3, t13 = e0 - e3, t11 = e1 + e2, t12 = e1 - e2;

  const V16 z3 = hn::Add(v[7], v[3]), z4 = hn::Add(v[5], v[1]);
  const Wide r3 = rotate(z3, z4, kF1_175 - kF1_961, kF1_175);
  const Wide r4 = rotate(z3, z4, kF1_175, kF1_175 - kF0_390);
  const Wide o0 = rotate(v[7], v[1], kF0_298 - kF0_899, -kF0_899) + r3;
  const Wide o3 = rotate(v[7], v[1], -kF0_899, kF1_501 - kF0_899) + r4;
  const Wide o1 = rotate(v[5], v[3], kF2_053 - kF2_562, -kF2_562) + r4;
  const Wide o2 = rotate(v[5], v[3], -kF2_562, kF3_072 - kF2_562) + r3;

  v[0] = descale<kShift>(t10 + o3), v[7] = descale<kShift>(t10 - o3);
  v[1] = descale<kShift>(t11 + o2), v[6] = descale<kShift>(t11 - o2);
  v[2] = descale<kShift>(t12 + o1), v[5] = descale<kShift>(t12 - o1);
  v[3] = descale<kShift>(t13 + o0), v[4] = descale<kShift>(t13 - o0);
}

// A row of pixels of each block.
HWY_INLINE void store_row(V16 row, uint8_t* out0, uint8_t* out1) {
  const hn::Rebind<uint8_t, D16> d8;
  alignas(16) uint8_t pixels[16];
  hn::Store(hn::DemoteTo(d8, hn::SaturatedAdd(row, hn::Set(D16(), 128))), d8, pixels);
  std::memcpy(out0, pixels, 8);
  if (hn::Lanes(D16()) == 16) std::memcpy(out1, pixels + 8, 8);
}

// A column of samples of each block.
HWY_INLINE void store_column(V16 column, int16_t* out0, int16_t* out1) {
  const D16 d;
  if constexpr (hn::MaxLanes(D16()) == 16) {
    const hn::Half<D16> half;
    hn::StoreU(hn::LowerHalf(half, column), half, out0);
    hn::StoreU(hn::UpperHalf(half, column), half, out1);
  } else {
    hn::StoreU(column, d, out0);
  }
}

// Columns of pixels, less 128, of one block or both; `b` is where in a row it begins. False when not plain.
HWY_INLINE bool columns_of(const int16_t* coefficients, const uint16_t* quant, size_t b, V16* v) {
  const D16 d;
  for (size_t row = 0; row < 8; ++row)
    v[row] = hn::Mul(hn::Load(d, coefficients + kPairStride * row + b),
                     hn::Load(d, reinterpret_cast<const int16_t*>(quant) + kPairStride * row + b));
  const auto most = hn::Set(d, kMostInput);
  const bool plain = hn::AllFalse(d, hn::Or(hn::Gt(v[0], most), hn::Lt(v[0], hn::Neg(most))));
  transform<kConstBits - kPass1Bits>(v);
  transpose(v);
  transform<kConstBits + kPass1Bits + 3>(v);
  return plain;
}

bool idct_pair(const int16_t* coefficients, const uint16_t* quant, uint8_t* out0, uint8_t* out1,
               size_t stride) {
  bool plain = true;
  for (size_t b = 0; b < 16; b += hn::Lanes(D16())) {
    V16 v[8];
    plain = columns_of(coefficients, quant, b, v) && plain;
    transpose(v);
    uint8_t* const first = b == 0 ? out0 : out1;
    for (size_t row = 0; row < 8; ++row) store_row(v[row], first + row * stride, out1 + row * stride);
  }
  return plain;
}

bool idct_pair_columns(const int16_t* coefficients, const uint16_t* quant, int16_t* out0, int16_t* out1) {
  const D16 d;
  const auto low = hn::Set(d, -128), high = hn::Set(d, 127), grey = hn::Set(d, 128);
  bool plain = true;
  for (size_t b = 0; b < 16; b += hn::Lanes(d)) {
    V16 v[8];
    plain = columns_of(coefficients, quant, b, v) && plain;
    for (size_t x = 0; x < 8; ++x) {
      const V16 pixels = hn::Add(hn::Min(hn::Max(v[x], low), high), grey);
      store_column(hn::ShiftLeft<kSampleBits>(pixels), (b == 0 ? out0 : out1) + kStripRows * x,
                   out1 + kStripRows * x);
    }
  }
  return plain;
}

#endif
}  // namespace HWY_NAMESPACE
}  // namespace headrace::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::kernels {
namespace {

HWY_EXPORT(idct_pair);
HWY_EXPORT(idct_pair_columns);

int16_t wrapped(int v) { return static_cast<int16_t>(v); }
int16_t saturated(int v) { return static_cast<int16_t>(std::clamp(v, -32768, 32767)); }

// The transform of eight values that are `step` apart.
void transform_scalar(int16_t* v, int step, int shift) {
  const auto in = [&](int i) -> int { return v[i * step]; };
  const auto rotated = [](int x, int y, int cx, int cy) { return x * cx + y * cy; };
  const int e2 = rotated(in(2), in(6), kF0_541, kF0_541 - kF1_847);
  const int e3 = rotated(in(2), in(6), kF0_541 + kF0_765, kF0_541);
  const int e0 = wrapped(in(0) + in(4)) * (1 << kConstBits), e1 = wrapped(in(0) - in(4)) * (1 << kConstBits);
  const int64_t t10 = int64_t{e0} + e3, t13 = int64_t{e0} - e3, t11 = int64_t{e1} + e2,
                t12 = int64_t{e1} - e2;
  const int z3 = wrapped(in(7) + in(3)), z4 = wrapped(in(5) + in(1));
  const int r3 = rotated(z3, z4, kF1_175 - kF1_961, kF1_175);
  const int r4 = rotated(z3, z4, kF1_175, kF1_175 - kF0_390);
  const int64_t o0 = int64_t{rotated(in(7), in(1), kF0_298 - kF0_899, -kF0_899)} + r3;
  const int64_t o3 = int64_t{rotated(in(7), in(1), -kF0_899, kF1_501 - kF0_899)} + r4;
  const int64_t o1 = int64_t{rotated(in(5), in(3), kF2_053 - kF2_562, -kF2_562)} + r4;
  const int64_t o2 = int64_t{rotated(in(5), in(3), -kF2_562, kF3_072 - kF2_562)} + r3;
  const auto descaled = [&](int64_t x) {
    return saturated(static_cast<int32_t>(static_cast<uint32_t>(x) + (1u << (shift - 1))) >> shift);
  };
  const int16_t out[8] = {descaled(t10 + o3), descaled(t11 + o2), descaled(t12 + o1), descaled(t13 + o0),
                          descaled(t13 - o0), descaled(t12 - o1), descaled(t11 - o2), descaled(t10 - o3)};
  for (int i = 0; i < 8; ++i) v[i * step] = out[i];
}

uint8_t pixel(int v) { return static_cast<uint8_t>(std::clamp(v, -128, 127) + 128); }

// `put(block, y, x, pixel)` for every pixel of both.
template <class Put> bool pair_scalar(const int16_t* coefficients, const uint16_t* quant, Put&& put) {
  bool plain = true;
  for (int b = 0; b < 2; ++b) {
    int16_t v[64];
    for (int row = 0; row < 8; ++row)
      for (int u = 0; u < 8; ++u) {
        const int at = kPairStride * row + 8 * b + u;
        v[8 * row + u] = wrapped(coefficients[at] * quant[at]);
      }
    for (int u = 0; u < 8; ++u) plain = plain && v[u] >= -kMostInput && v[u] <= kMostInput;
    for (int u = 0; u < 8; ++u) transform_scalar(v + u, 8, kConstBits - kPass1Bits);
    for (int row = 0; row < 8; ++row) {
      transform_scalar(v + 8 * row, 1, kConstBits + kPass1Bits + 3);
      for (int x = 0; x < 8; ++x)
        put(b, static_cast<size_t>(row), static_cast<size_t>(x), pixel(v[8 * row + x]));
    }
  }
  return plain;
}

}  // namespace

bool idct_pair(const int16_t* coefficients, const uint16_t* quant, uint8_t* out0, uint8_t* out1,
               size_t stride) {
  return HWY_DYNAMIC_DISPATCH(idct_pair)(coefficients, quant, out0, out1, stride);
}

bool idct_pair_columns(const int16_t* coefficients, const uint16_t* quant, int16_t* out0, int16_t* out1) {
  return HWY_DYNAMIC_DISPATCH(idct_pair_columns)(coefficients, quant, out0, out1);
}

bool idct_pair_scalar(const int16_t* coefficients, const uint16_t* quant, uint8_t* out0, uint8_t* out1,
                      size_t stride) {
  return pair_scalar(coefficients, quant, [&](int b, size_t y, size_t x, uint8_t value) {
    (b == 0 ? out0 : out1)[y * stride + x] = value;
  });
}

bool idct_pair_columns_scalar(const int16_t* coefficients, const uint16_t* quant, int16_t* out0,
                              int16_t* out1) {
  return pair_scalar(coefficients, quant, [&](int b, size_t y, size_t x, uint8_t value) {
    (b == 0 ? out0 : out1)[kStripRows * x + y] = static_cast<int16_t>(value << kSampleBits);
  });
}

namespace {

struct Flat {
  uint8_t grey;
  bool plain;
};
Flat flat(int coefficient, int quant) {
  const int value = wrapped(coefficient * quant);
  return {pixel((value * (1 << kPass1Bits) + 16) >> 5), value >= -kMostInput && value <= kMostInput};
}

}  // namespace

bool idct_dc(int coefficient, int quant, uint8_t* out, size_t stride) {
  const Flat block = flat(coefficient, quant);
  for (size_t row = 0; row < 8; ++row) std::memset(out + row * stride, block.grey, 8);
  return block.plain;
}

bool idct_dc_columns(int coefficient, int quant, int16_t* out) {
  const Flat block = flat(coefficient, quant);
  int16_t column[8];
  std::fill_n(column, 8, static_cast<int16_t>(block.grey << kSampleBits));
  for (size_t x = 0; x < 8; ++x) std::memcpy(out + kStripRows * x, column, sizeof column);
  return block.plain;
}

}  // namespace headrace::kernels
#endif
