#include "headrace/kernels/planes.h"

#include <cstring>

#include "headrace/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headrace/kernels/planes.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

// The SIMD forms return how many pixels they did, from the first on; the scalar twins do the rest.
HWY_BEFORE_NAMESPACE();
namespace headrace::kernels {
namespace HWY_NAMESPACE {
#if HEADRACE_NO_SIMD

int64_t mirror(const uint8_t*, int64_t, size_t, uint8_t*) { return 0; }
int64_t split(const uint8_t*, int64_t, int64_t, uint8_t*, int64_t) { return 0; }
int64_t split_floats(const float*, int64_t, int64_t, float*, int64_t) { return 0; }
int64_t weave(const uint8_t* const*, int64_t, int64_t, uint8_t*) { return 0; }

#else
namespace hn = hwy::HWY_NAMESPACE;

// `vector(pixel)` handles as many pixels as `d` has lanes, from `pixel` on.
template <class D, class F> HWY_INLINE int64_t each_vector(D d, int64_t pixels, F&& vector) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t i = 0;
  for (; i + lanes <= pixels; i += lanes) vector(i);
  return i;
}

// Blocks of 16 pixels: reversing one is a single shuffle on every target.
int64_t mirror(const uint8_t* in, int64_t width, size_t pixel_size, uint8_t* out) {
  const hn::CappedTag<uint8_t, 16> d;
  alignas(16) static constexpr uint8_t kReversed[16] = {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
  const auto reversed = hn::Load(d, kReversed);
  const auto size = static_cast<int64_t>(pixel_size);
  const auto from = [&](int64_t i) { return in + (width - i - 16) * size; };
  const auto turn = [&](auto v) { return hn::TableLookupBytes(v, reversed); };
  hn::Vec<decltype(d)> a, b, c, e;
  if (size == 1)
    return each_vector(d, width, [&](int64_t i) { hn::StoreU(turn(hn::LoadU(d, from(i))), d, out + i); });
  if (size == 2)
    return each_vector(d, width, [&](int64_t i) {
      hn::LoadInterleaved2(d, from(i), a, b);
      hn::StoreInterleaved2(turn(a), turn(b), d, out + 2 * i);
    });
  if (size == 3)
    return each_vector(d, width, [&](int64_t i) {
      hn::LoadInterleaved3(d, from(i), a, b, c);
      hn::StoreInterleaved3(turn(a), turn(b), turn(c), d, out + 3 * i);
    });
  if (size == 4)
    return each_vector(d, width, [&](int64_t i) {
      hn::LoadInterleaved4(d, from(i), a, b, c, e);
      hn::StoreInterleaved4(turn(a), turn(b), turn(c), turn(e), d, out + 4 * i);
    });
  return 0;
}

template <class T>
int64_t split_of(const T* in, int64_t pixels, int64_t channels, T* planes, int64_t stride) {
  const hn::ScalableTag<T> d;
  hn::Vec<decltype(d)> a, b, c, e;
  if (channels == 2)
    return each_vector(d, pixels, [&](int64_t i) {
      hn::LoadInterleaved2(d, in + 2 * i, a, b);
      hn::StoreU(a, d, planes + i), hn::StoreU(b, d, planes + stride + i);
    });
  if (channels == 3)
    return each_vector(d, pixels, [&](int64_t i) {
      hn::LoadInterleaved3(d, in + 3 * i, a, b, c);
      hn::StoreU(a, d, planes + i), hn::StoreU(b, d, planes + stride + i),
          hn::StoreU(c, d, planes + 2 * stride + i);
    });
  if (channels == 4)
    return each_vector(d, pixels, [&](int64_t i) {
      hn::LoadInterleaved4(d, in + 4 * i, a, b, c, e);
      hn::StoreU(a, d, planes + i), hn::StoreU(b, d, planes + stride + i);
      hn::StoreU(c, d, planes + 2 * stride + i), hn::StoreU(e, d, planes + 3 * stride + i);
    });
  return 0;
}

int64_t split(const uint8_t* in, int64_t pixels, int64_t channels, uint8_t* planes, int64_t stride) {
  return split_of(in, pixels, channels, planes, stride);
}
int64_t split_floats(const float* in, int64_t pixels, int64_t channels, float* planes, int64_t stride) {
  return split_of(in, pixels, channels, planes, stride);
}

int64_t weave(const uint8_t* const* planes, int64_t pixels, int64_t channels, uint8_t* out) {
  const hn::ScalableTag<uint8_t> d;
  const auto plane = [&](int64_t c, int64_t i) { return hn::LoadU(d, planes[c] + i); };
  if (channels == 2)
    return each_vector(d, pixels,
                       [&](int64_t i) { hn::StoreInterleaved2(plane(0, i), plane(1, i), d, out + 2 * i); });
  if (channels == 3)
    return each_vector(d, pixels, [&](int64_t i) {
      hn::StoreInterleaved3(plane(0, i), plane(1, i), plane(2, i), d, out + 3 * i);
    });
  if (channels == 4)
    return each_vector(d, pixels, [&](int64_t i) {
      hn::StoreInterleaved4(plane(0, i), plane(1, i), plane(2, i), plane(3, i), d, out + 4 * i);
    });
  return 0;
}

#endif
}  // namespace HWY_NAMESPACE
}  // namespace headrace::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::kernels {
namespace {

HWY_EXPORT(mirror);
HWY_EXPORT(split);
HWY_EXPORT(split_floats);
HWY_EXPORT(weave);

template <class T>
void split_plain(const T* in, int64_t first, int64_t pixels, int64_t channels, T* planes, int64_t stride) {
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t i = first; i < pixels; ++i) planes[c * stride + i] = in[i * channels + c];
}

void weave_plain(const uint8_t* const* planes, int64_t first, int64_t pixels, int64_t channels,
                 uint8_t* out) {
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t i = first; i < pixels; ++i) out[i * channels + c] = planes[c][i];
}

}  // namespace

void mirror_row(const std::byte* in, int64_t width, size_t pixel_size, std::byte* out) {
  const int64_t done = HWY_DYNAMIC_DISPATCH(mirror)(reinterpret_cast<const uint8_t*>(in), width, pixel_size,
                                                    reinterpret_cast<uint8_t*>(out));
  mirror_row_scalar(in, width - done, pixel_size, out + static_cast<size_t>(done) * pixel_size);
}

void mirror_row_scalar(const std::byte* in, int64_t width, size_t pixel_size, std::byte* out) {
  const std::byte* pixel = in + static_cast<size_t>(width) * pixel_size;
  for (int64_t x = 0; x < width; ++x, out += pixel_size) std::memcpy(out, pixel -= pixel_size, pixel_size);
}

void to_planes(const uint8_t* in, int64_t pixels, int64_t channels, uint8_t* planes, int64_t plane_stride) {
  const int64_t done = HWY_DYNAMIC_DISPATCH(split)(in, pixels, channels, planes, plane_stride);
  split_plain(in, done, pixels, channels, planes, plane_stride);
}
void to_planes(const float* in, int64_t pixels, int64_t channels, float* planes, int64_t plane_stride) {
  const int64_t done = HWY_DYNAMIC_DISPATCH(split_floats)(in, pixels, channels, planes, plane_stride);
  split_plain(in, done, pixels, channels, planes, plane_stride);
}
void to_planes_scalar(const uint8_t* in, int64_t pixels, int64_t channels, uint8_t* planes,
                      int64_t plane_stride) {
  split_plain(in, 0, pixels, channels, planes, plane_stride);
}

void from_planes(const uint8_t* const* planes, int64_t pixels, int64_t channels, uint8_t* out) {
  const int64_t done = HWY_DYNAMIC_DISPATCH(weave)(planes, pixels, channels, out);
  weave_plain(planes, done, pixels, channels, out);
}
void from_planes_scalar(const uint8_t* const* planes, int64_t pixels, int64_t channels, uint8_t* out) {
  weave_plain(planes, 0, pixels, channels, out);
}

}  // namespace headrace::kernels
#endif
