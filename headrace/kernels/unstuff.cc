#include "headrace/kernels/unstuff.h"

#include <algorithm>
#include <cstring>

#include "headrace/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headrace/kernels/unstuff.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

// The SIMD form stops where less than a vector is left to read; the scalar twin does the rest.
HWY_BEFORE_NAMESPACE();
namespace headrace::kernels {
namespace HWY_NAMESPACE {
#if HEADRACE_NO_SIMD

Unstuffed unstuff_vectors(const uint8_t*, size_t, uint8_t*, size_t) { return {}; }

#else
namespace hn = hwy::HWY_NAMESPACE;

Unstuffed unstuff_vectors(const uint8_t* data, size_t size, uint8_t* to, size_t room) {
  const hn::CappedTag<uint8_t, kUnstuffMore> d;
  const size_t lanes = hn::Lanes(d);
  const auto marker = hn::Set(d, 0xFF);
  Unstuffed done;
  while (done.written < room && size - done.read > lanes) {
    const uint8_t* const from = data + done.read;
    const auto bytes = hn::LoadU(d, from);
    hn::StoreU(bytes, d, to + done.written);
    const intptr_t found = hn::FindFirstTrue(d, hn::Eq(bytes, marker));
    if (found < 0) {
      done.read += lanes, done.written += lanes;
      continue;
    }
    const auto plain = static_cast<size_t>(found);
    done.stopped = from[plain + 1] != 0;
    done.read += plain + (done.stopped ? 0 : 2), done.written += plain + (done.stopped ? 0 : 1);
    if (done.stopped) break;
  }
  return done;
}

#endif
}  // namespace HWY_NAMESPACE
}  // namespace headrace::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::kernels {
namespace {

HWY_EXPORT(unstuff_vectors);

}  // namespace

Unstuffed unstuff(const uint8_t* data, size_t size, uint8_t* to, size_t room) {
  const Unstuffed done = HWY_DYNAMIC_DISPATCH(unstuff_vectors)(data, size, to, room);
  if (done.stopped || done.written >= room) return done;
  const Unstuffed rest =
      unstuff_scalar(data + done.read, size - done.read, to + done.written, room - done.written);
  return {done.read + rest.read, done.written + rest.written, rest.stopped};
}

Unstuffed unstuff_scalar(const uint8_t* data, size_t size, uint8_t* to, size_t room) {
  Unstuffed done;
  while (done.written < room && done.read < size) {
    const uint8_t* const from = data + done.read;
    const size_t most = std::min(room - done.written, size - done.read);
    const auto* const marker = static_cast<const uint8_t*>(std::memchr(from, 0xFF, most));
    const size_t plain = marker ? static_cast<size_t>(marker - from) : most;
    std::memcpy(to + done.written, from, plain);
    done.read += plain, done.written += plain;
    if (!marker) continue;
    done.stopped = done.read + 1 == size || marker[1] != 0;
    if (done.stopped) return done;
    to[done.written++] = 0xFF;
    done.read += 2;
  }
  done.stopped = done.read == size;
  return done;
}

}  // namespace headrace::kernels
#endif
