// Vectors in which each block of 128 bits belongs to another row, for every SIMD target. Include after
// hwy/highway.h.
//
// Not `#pragma once`: hwy/foreach_target.h includes it once for each target.
#if defined(HEADRACE_KERNELS_BLOCKS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HEADRACE_KERNELS_BLOCKS_INL_H_
#undef HEADRACE_KERNELS_BLOCKS_INL_H_
#else
#define HEADRACE_KERNELS_BLOCKS_INL_H_
#endif

#include <algorithm>
#include <cstring>

#include "hwy/highway.h"

#if !HEADRACE_NO_SIMD
HWY_BEFORE_NAMESPACE();
namespace headrace::kernels {
namespace HWY_NAMESPACE {

#if HWY_HAVE_SCALABLE
using D8 = hwy::HWY_NAMESPACE::CappedTag<uint8_t, 16>;
#else
using D8 = hwy::HWY_NAMESPACE::ScalableTag<uint8_t>;
#endif
constexpr int64_t kBlocks = hwy::HWY_NAMESPACE::MaxLanes(D8()) / 16;

// kBlocks rows of input and output. Past the last row its work is repeated.
struct BlockRows {
  const uint8_t* from[kBlocks];
  uint8_t* to[kBlocks];
  BlockRows(const uint8_t* const* rows, int64_t count, int64_t first, uint8_t* out, int64_t out_stride) {
    for (int64_t b = 0; b < kBlocks; ++b) {
      const int64_t row = std::min(first + b, count - 1);
      from[b] = rows[row];
      to[b] = out + row * out_stride;
    }
  }
};

// 16 bytes of each row, and back: no byte of the output at `size` or after it is written.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> load_blocks(D d, const uint8_t* const* rows, int64_t offset) {
  namespace hn = hwy::HWY_NAMESPACE;
  if constexpr (hn::MaxLanes(D()) <= 16) {
    return hn::LoadU(d, rows[0] + offset);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_blocks(half, rows + hn::MaxLanes(half) / 16, offset),
                       load_blocks(half, rows, offset));
  }
}
template <class D> HWY_INLINE void store_blocks(D d, hwy::HWY_NAMESPACE::Vec<D> v, uint8_t* const* rows,
                                                int64_t offset, int64_t size) {
  namespace hn = hwy::HWY_NAMESPACE;
  if constexpr (hn::MaxLanes(D()) > 16) {
    const hn::Half<D> half;
    store_blocks(half, hn::LowerHalf(half, v), rows, offset, size);
    store_blocks(half, hn::UpperHalf(half, v), rows + hn::MaxLanes(half) / 16, offset, size);
  } else if (offset + 16 <= size) {
    hn::StoreU(v, d, rows[0] + offset);  // excess bytes are overwritten by the next pixels
  } else {
    alignas(16) uint8_t bytes[16];
    hn::Store(v, d, bytes);
    std::memcpy(rows[0] + offset, bytes, static_cast<size_t>(size - offset));
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace headrace::kernels
HWY_AFTER_NAMESPACE();
#endif

#endif
