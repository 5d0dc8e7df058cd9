// The template of a SIMD kernel: copy it, rename `skeleton`, replace the arithmetic. Not part of the build;
// its header would be skeleton.h, and its test skeleton_test.cc, which runs both forms on every target (see
// affine_test.cc).
//
//   // skeleton.h
//   // One paragraph: what it does, for whom, preconditions, threads.
//   namespace headrace::kernels {
//   // out[i] = |a[i] - b[i]|. `out` does not overlap `a` or `b`.
//   void difference(const uint8_t* a, const uint8_t* b, int64_t count, uint8_t* out);
//   void difference_scalar(const uint8_t* a, const uint8_t* b, int64_t count, uint8_t* out);
//   }
//
// Rules: pointers, strides and sizes only; no failure, no allocation, nothing read or written beyond the
// counts; every target gives the bytes of the scalar twin, so no MulAdd, no approximate reciprocal, no
// reassociated float sums. The number of lanes is not hard-coded: AVX3 has 64 bytes, SSE4 16.
#include "headrace/kernels/skeleton.h"

#include <algorithm>

#include "headrace/kernels/simd.h"  // before anything of Highway

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE \
  "headrace/kernels/skeleton.cc"  // this file, included once per target by the next line
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headrace::kernels {
namespace HWY_NAMESPACE {  // another name per target
#if HEADRACE_NO_SIMD

int64_t skeleton(const uint8_t*, const uint8_t*, int64_t, uint8_t*) { return 0; }

#else
namespace hn = hwy::HWY_NAMESPACE;

// Returns how many elements it did, from the first on; the scalar twin does the rest.
int64_t skeleton(const uint8_t* a, const uint8_t* b, int64_t count, uint8_t* out) {
  const hn::ScalableTag<uint8_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto x = hn::LoadU(d, a + i), y = hn::LoadU(d, b + i);
    hn::StoreU(hn::Sub(hn::Max(x, y), hn::Min(x, y)), d, out + i);
  }
  return i;
}

#endif
}  // namespace HWY_NAMESPACE
}  // namespace headrace::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::kernels {
namespace {

HWY_EXPORT(skeleton);

}  // namespace

void difference(const uint8_t* a, const uint8_t* b, int64_t count, uint8_t* out) {
  const int64_t done = HWY_DYNAMIC_DISPATCH(skeleton)(a, b, count, out);
  difference_scalar(a + done, b + done, count - done, out + done);
}

void difference_scalar(const uint8_t* a, const uint8_t* b, int64_t count, uint8_t* out) {
  for (int64_t i = 0; i < count; ++i)
    out[i] = static_cast<uint8_t>(std::max(a[i], b[i]) - std::min(a[i], b[i]));
}

}  // namespace headrace::kernels
#endif
