#include "headrace/kernels/unfilter.h"

#include <cstdlib>
#include <cstring>

#include "headrace/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headrace/kernels/unfilter.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

// Each pixel depends on the one before, so a vector is one pixel of three or four bytes. The last one is left
// to the scalar twin: for three bytes four are read and written.
HWY_BEFORE_NAMESPACE();
namespace headrace::kernels {
namespace HWY_NAMESPACE {
#if HEADRACE_NO_SIMD

size_t unfilter_pixels(RowFilter, const uint8_t*, const uint8_t*, size_t, size_t, uint8_t*) { return 0; }

#else
namespace hn = hwy::HWY_NAMESPACE;

constexpr hn::Simd<uint8_t, 4, 0> kBytes;
constexpr hn::Simd<int16_t, 4, 0> kWords;

HWY_INLINE auto words_at(const uint8_t* from) { return hn::PromoteTo(kWords, hn::LoadU(kBytes, from)); }

template <size_t kPixel> size_t unfilter_sub(const uint8_t* in, size_t size, uint8_t* out) {
  auto left = hn::Zero(kBytes);
  size_t at = 0;
  for (; at + kPixel < size; at += kPixel) {
    left = hn::Add(left, hn::LoadU(kBytes, in + at));
    hn::StoreU(left, kBytes, out + at);
  }
  return at;
}

template <size_t kPixel>
size_t unfilter_average(const uint8_t* in, const uint8_t* above, size_t size, uint8_t* out) {
  auto left = hn::Zero(kBytes);
  const auto one = hn::Set(kBytes, 1);
  size_t at = 0;
  for (; at + kPixel < size; at += kPixel) {
    const auto up = hn::LoadU(kBytes, above + at);
    const auto half = hn::Sub(hn::AverageRound(left, up), hn::And(hn::Xor(left, up), one));
    left = hn::Add(half, hn::LoadU(kBytes, in + at));
    hn::StoreU(left, kBytes, out + at);
  }
  return at;
}

template <size_t kPixel>
size_t unfilter_paeth(const uint8_t* in, const uint8_t* above, size_t size, uint8_t* out) {
  auto left = hn::Zero(kWords), corner = left;
  const auto byte = hn::Set(kWords, 0xFF);
  size_t at = 0;
  for (; at + kPixel < size; at += kPixel) {
    const auto up = words_at(above + at);
    const auto down = hn::Sub(up, corner), across = hn::Sub(left, corner);
    const auto to_left = hn::Abs(down), to_up = hn::Abs(across), to_corner = hn::Abs(hn::Add(down, across));
    const auto least = hn::Min(to_left, hn::Min(to_up, to_corner));
    const auto nearest =
        hn::IfThenElse(hn::Eq(least, to_left), left, hn::IfThenElse(hn::Eq(least, to_up), up, corner));
    left = hn::And(hn::Add(words_at(in + at), nearest), byte);
    hn::StoreU(hn::DemoteTo(kBytes, left), kBytes, out + at);
    corner = up;
  }
  return at;
}

template <size_t kPixel>
size_t unfilter_of(RowFilter filter, const uint8_t* in, const uint8_t* above, size_t size, uint8_t* out) {
  if (filter == RowFilter::sub) return unfilter_sub<kPixel>(in, size, out);
  if (filter == RowFilter::average) return unfilter_average<kPixel>(in, above, size, out);
  return filter == RowFilter::paeth ? unfilter_paeth<kPixel>(in, above, size, out) : 0;
}

// How many bytes are done.
size_t unfilter_pixels(RowFilter filter, const uint8_t* in, const uint8_t* above, size_t size, size_t pixel,
                       uint8_t* out) {
  if (pixel == 3) return unfilter_of<3>(filter, in, above, size, out);
  return pixel == 4 ? unfilter_of<4>(filter, in, above, size, out) : 0;
}

#endif
}  // namespace HWY_NAMESPACE
}  // namespace headrace::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::kernels {
namespace {

HWY_EXPORT(unfilter_pixels);

int nearest(int left, int up, int corner) {
  const int to_left = std::abs(up - corner), to_up = std::abs(left - corner),
            to_corner = std::abs(up + left - 2 * corner);
  if (to_left <= to_up && to_left <= to_corner) return left;
  return to_up <= to_corner ? up : corner;
}

// From byte `at` on; those before are done.
void unfilter_from(size_t at, RowFilter filter, const uint8_t* in, const uint8_t* above, size_t size,
                   size_t pixel, uint8_t* out) {
  const auto each = [&](auto&& guess) {
    for (; at < size; ++at) {
      const bool is_first = at < pixel;
      const int left = is_first ? 0 : out[at - pixel], corner = is_first ? 0 : above[at - pixel];
      out[at] = static_cast<uint8_t>(in[at] + guess(left, above[at], corner));
    }
  };
  switch (filter) {
    case RowFilter::none: std::memcpy(out + at, in + at, size - at); return;
    case RowFilter::sub: return each([](int left, int, int) { return left; });
    case RowFilter::up:
      for (; at < size; ++at) out[at] = static_cast<uint8_t>(in[at] + above[at]);
      return;
    case RowFilter::average: return each([](int left, int up, int) { return (left + up) / 2; });
    case RowFilter::paeth: return each(nearest);
  }
}

}  // namespace

void unfilter(RowFilter filter, const uint8_t* in, const uint8_t* above, size_t size, size_t pixel,
              uint8_t* out) {
  const size_t done = HWY_DYNAMIC_DISPATCH(unfilter_pixels)(filter, in, above, size, pixel, out);
  unfilter_from(done, filter, in, above, size, pixel, out);
}

void unfilter_scalar(RowFilter filter, const uint8_t* in, const uint8_t* above, size_t size, size_t pixel,
                     uint8_t* out) {
  unfilter_from(0, filter, in, above, size, pixel, out);
}

}  // namespace headrace::kernels
#endif
