// Sums of 16-bit products, for every SIMD target. Include after hwy/highway.h.
//
// Not `#pragma once`: hwy/foreach_target.h includes it once for each target.
#if defined(HEADRACE_KERNELS_PRODUCTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADRACE_KERNELS_PRODUCTS_INL_H_
#undef HEADRACE_KERNELS_PRODUCTS_INL_H_
#else
#define HEADRACE_KERNELS_PRODUCTS_INL_H_
#endif

#include "hwy/highway.h"

#if !HEADRACE_NO_SIMD
HWY_BEFORE_NAMESPACE();
namespace headrace::kernels {
namespace HWY_NAMESPACE {

// sum + a.even * b.even + a.odd * b.odd in each 32-bit lane; a and b have twice as many lanes of 16 bits.
template <class V32, class V16> HWY_INLINE V32 add_products(V32 sum, V16 a, V16 b) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::DFromV<V32> d32;
#if HWY_ARCH_X86
  V32 unused = hn::Zero(d32);  // on x86 one instruction, and its order is this one
  return hn::ReorderWidenMulAccumulate(d32, a, b, sum, unused);
#else
  const V32 a32 = hn::BitCast(d32, a), b32 = hn::BitCast(d32, b);
  const V32 odd = hn::Mul(hn::ShiftRight<16>(a32), hn::ShiftRight<16>(b32));
  const V32 even =
      hn::Mul(hn::ShiftRight<16>(hn::ShiftLeft<16>(a32)), hn::ShiftRight<16>(hn::ShiftLeft<16>(b32)));
  return hn::Add(sum, hn::Add(odd, even));
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace headrace::kernels
HWY_AFTER_NAMESPACE();
#endif

#endif
