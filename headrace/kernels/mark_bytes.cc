#include "headrace/kernels/mark_bytes.h"

#include <algorithm>

#include "headrace/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headrace/kernels/mark_bytes.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headrace::kernels {
namespace HWY_NAMESPACE {
#if HEADRACE_NO_SIMD

int64_t mark(const uint8_t*, int64_t, const WantedBytes&, uint64_t*) { return 0; }

#else
namespace hn = hwy::HWY_NAMESPACE;

// Returns how many bytes it did: whole words.
int64_t mark(const uint8_t* text, int64_t count, const WantedBytes& wanted, uint64_t* bits) {
  const hn::CappedTag<uint8_t, 64> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto one = hn::Set(d, wanted.one), other = hn::Set(d, wanted.other), bound = hn::Set(d, wanted.bound);
  int64_t i = 0;
  for (; i + 64 <= count; i += 64) {
    auto* const out = reinterpret_cast<uint8_t*>(bits + i / 64);
    for (int64_t k = 0; k < 64; k += lanes) {
      const auto x = hn::LoadU(d, text + i + k);
      hn::StoreMaskBits(d, hn::Or(hn::Or(hn::Eq(x, one), hn::Eq(x, other)), hn::Lt(x, bound)), out + k / 8);
    }
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

HWY_EXPORT(mark);

}  // namespace

void mark_bytes(const uint8_t* text, int64_t count, const WantedBytes& wanted, uint64_t* bits) {
  const int64_t done = HWY_DYNAMIC_DISPATCH(mark)(text, count, wanted, bits);
  mark_bytes_scalar(text + done, count - done, wanted, bits + done / 64);
}

void mark_bytes_scalar(const uint8_t* text, int64_t count, const WantedBytes& wanted, uint64_t* bits) {
  for (int64_t i = 0; i < count; i += 64) {
    uint64_t word = 0;
    for (int64_t k = 0; k < std::min<int64_t>(64, count - i); ++k) {
      const uint8_t byte = text[i + k];
      const bool is_wanted = byte == wanted.one || byte == wanted.other || byte < wanted.bound;
      word |= static_cast<uint64_t>(is_wanted) << k;
    }
    bits[i / 64] = word;
  }
}

}  // namespace headrace::kernels
#endif
