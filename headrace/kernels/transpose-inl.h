// Vectors of 16-bit numbers that work on blocks of 8 x 8, and their transposition, for every SIMD target.
// Include after hwy/highway.h.
//
// Not `#pragma once`: hwy/foreach_target.h includes it once for each target.
#if defined(HEADRACE_KERNELS_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADRACE_KERNELS_TRANSPOSE_INL_H_
#undef HEADRACE_KERNELS_TRANSPOSE_INL_H_
#else
#define HEADRACE_KERNELS_TRANSPOSE_INL_H_
#endif

#include "hwy/highway.h"

#if !HEADRACE_NO_SIMD
HWY_BEFORE_NAMESPACE();
namespace headrace::kernels {
namespace HWY_NAMESPACE {

// One block in 128 bits, or two in 256: operations on blocks stay within 128-bit blocks of a vector.
#if HWY_HAVE_SCALABLE
using D16 = hwy::HWY_NAMESPACE::CappedTag<int16_t, 8>;
#else
using D16 = hwy::HWY_NAMESPACE::CappedTag<int16_t, 16>;
#endif
using V16 = hwy::HWY_NAMESPACE::Vec<D16>;

// Eight vectors; in each of their blocks of 128 bits, lane i of vector k becomes lane k of vector i.
HWY_INLINE void transpose(V16* v) {
  namespace hn = hwy::HWY_NAMESPACE;
  const D16 d;
  const hn::Repartition<int32_t, decltype(d)> d32;
  const hn::Repartition<int64_t, decltype(d)> d64;
  V16 a[8], b[8];
  for (int i = 0; i < 4; ++i) {
    a[2 * i] = hn::InterleaveLower(d, v[2 * i], v[2 * i + 1]);
    a[2 * i + 1] = hn::InterleaveUpper(d, v[2 * i], v[2 * i + 1]);
  }
  const auto low32 = [&](V16 x, V16 y) {
    return hn::BitCast(d, hn::InterleaveLower(d32, hn::BitCast(d32, x), hn::BitCast(d32, y)));
  };
  const auto high32 = [&](V16 x, V16 y) {
    return hn::BitCast(d, hn::InterleaveUpper(d32, hn::BitCast(d32, x), hn::BitCast(d32, y)));
  };
  for (int i = 0; i < 2; ++i)
    for (int k = 0; k < 2; ++k) {
      b[4 * i + 2 * k] = low32(a[4 * i + k], a[4 * i + 2 + k]);
      b[4 * i + 2 * k + 1] = high32(a[4 * i + k], a[4 * i + 2 + k]);
    }
  for (int i = 0; i < 4; ++i) {
    const auto x = hn::BitCast(d64, b[i]), y = hn::BitCast(d64, b[4 + i]);
    v[2 * i] = hn::BitCast(d, hn::InterleaveLower(d64, x, y));
    v[2 * i + 1] = hn::BitCast(d, hn::InterleaveUpper(d64, x, y));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace headrace::kernels
HWY_AFTER_NAMESPACE();
#endif

#endif
