#include "headrace/kernels/copy_past_caches.h"

#include <cstdint>
#include <cstring>

#include "headrace/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headrace/kernels/copy_past_caches.cc"
#include "hwy/cache_control.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headrace::kernels {
namespace HWY_NAMESPACE {
#if HEADRACE_NO_SIMD

size_t copy_lines(uint8_t*, const uint8_t*, size_t) { return 0; }

#else
namespace hn = hwy::HWY_NAMESPACE;

// Whole runs of lines, to where a line begins; returns the number of bytes.
size_t copy_lines(uint8_t* to, const uint8_t* from, size_t size) {
  constexpr size_t kRun = 256, kAhead = 1024;
  const hn::CappedTag<uint8_t, 32> d;  // wider vectors are no faster, and lower the clock of some processors
  const size_t lanes = hn::Lanes(d);
  size_t at = 0;
  for (; at + kRun <= size; at += kRun) {
    for (size_t line = 0; line < kRun; line += 64) hwy::Prefetch(from + at + kAhead + line);
    for (size_t i = 0; i < kRun; i += lanes) hn::Stream(hn::LoadU(d, from + at + i), d, to + at + i);
  }
  return at;
}

#endif
}  // namespace HWY_NAMESPACE
}  // namespace headrace::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::kernels {
namespace {

HWY_EXPORT(copy_lines);

}  // namespace

void copy_past_caches(void* to, const void* from, size_t size) {
  constexpr size_t kLine = 64;
  auto* out = static_cast<uint8_t*>(to);
  const auto* in = static_cast<const uint8_t*>(from);
  const size_t head = (kLine - reinterpret_cast<uintptr_t>(out) % kLine) % kLine;
  size_t done = head;
  if (head > size) done = 0;
  if (done > 0) std::memcpy(out, in, done);
  if (head <= size) {
    done += HWY_DYNAMIC_DISPATCH(copy_lines)(out + done, in + done, size - done);
    hwy::FlushStream();
  }
  if (done < size) std::memcpy(out + done, in + done, size - done);
}

}  // namespace headrace::kernels
#endif
