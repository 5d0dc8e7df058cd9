#include "headrace/kernels/resample_floats.h"

#include <algorithm>

#include "headrace/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headrace/kernels/resample_floats.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace headrace::kernels {
namespace HWY_NAMESPACE {
#if HEADRACE_NO_SIMD

void across_floats(const FloatRows& in, const Taps<float>& taps, int64_t out_width, float* out,
                   int64_t out_stride, float*) {
  resample_across_scalar(in, taps, out_width, out, out_stride);
}
int64_t down_floats(const float*, int64_t, const float*, int32_t, float*, int64_t) { return 0; }

#else
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_HAVE_SCALABLE
using DF = hn::CappedTag<float, 4>;
#else
using DF = hn::ScalableTag<float>;
#endif
using VF = hn::Vec<DF>;
constexpr int64_t kLanes = hn::MaxLanes(DF());

// In each block of 128 bits, lane i of vector k becomes lane k of vector i.
HWY_INLINE void transpose4(VF& a, VF& b, VF& c, VF& d) {
  const DF df;
  const hn::Repartition<double, DF> pair;
  const VF ab_low = hn::InterleaveLower(df, a, b), ab_high = hn::InterleaveUpper(df, a, b);
  const VF cd_low = hn::InterleaveLower(df, c, d), cd_high = hn::InterleaveUpper(df, c, d);
  const auto low = [&](VF x, VF y) {
    return hn::BitCast(df, hn::InterleaveLower(pair, hn::BitCast(pair, x), hn::BitCast(pair, y)));
  };
  const auto high = [&](VF x, VF y) {
    return hn::BitCast(df, hn::InterleaveUpper(pair, hn::BitCast(pair, x), hn::BitCast(pair, y)));
  };
  a = low(ab_low, cd_low), b = high(ab_low, cd_low);
  c = low(ab_high, cd_high), d = high(ab_high, cd_high);
}

// Four floats of every fourth row, a block each, and back.
template <class D> HWY_INLINE hn::Vec<D> load_rows(D d, const float* const* rows, int64_t at) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    return hn::LoadU(d, rows[0] + at);
  } else {
    const hn::Half<D> half;
    return hn::Combine(d, load_rows(half, rows + hn::MaxLanes(half), at), load_rows(half, rows, at));
  }
}
template <class D> HWY_INLINE void store_rows(D d, hn::Vec<D> v, float* const* rows, int64_t at) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    hn::StoreU(v, d, rows[0] + at);
  } else {
    const hn::Half<D> half;
    store_rows(half, hn::LowerHalf(half, v), rows, at);
    store_rows(half, hn::UpperHalf(half, v), rows + hn::MaxLanes(half), at);
  }
}

// kLanes rows, turned: strip[kLanes * i + r] is number i of row r.
void fill_strip(const float* const* rows, int64_t size, float* strip) {
  const DF df;
  int64_t i = 0;
  for (; i + 4 <= size; i += 4, strip += 4 * kLanes) {
    VF a = load_rows(df, rows, i), b = load_rows(df, rows + 1, i), c = load_rows(df, rows + 2, i),
       d = load_rows(df, rows + 3, i);
    transpose4(a, b, c, d);
    hn::Store(a, df, strip), hn::Store(b, df, strip + kLanes);
    hn::Store(c, df, strip + 2 * kLanes), hn::Store(d, df, strip + 3 * kLanes);
  }
  for (; i < size; ++i)
    for (int64_t r = 0; r < kLanes; ++r) *strip++ = rows[r][i];
}

// Four numbers of each of kLanes output rows, as many as there are beyond `at`.
void empty_strip(const float* strip, int64_t count, float* const* rows, int64_t at) {
  const DF df;
  if (count >= 4) {
    VF a = hn::Load(df, strip), b = hn::Load(df, strip + kLanes), c = hn::Load(df, strip + 2 * kLanes),
       d = hn::Load(df, strip + 3 * kLanes);
    transpose4(a, b, c, d);
    store_rows(df, a, rows, at), store_rows(df, b, rows + 1, at);
    store_rows(df, c, rows + 2, at), store_rows(df, d, rows + 3, at);
  } else {
    for (int64_t i = 0; i < count; ++i)
      for (int64_t r = 0; r < kLanes; ++r) rows[r][at + i] = strip[kLanes * i + r];
  }
}

template <int kChannels>
HWY_INLINE void mix_pixel(const float* strip, const float* weights, int32_t count, float* out) {
  const DF df;
  VF sums[kChannels];
  for (int c = 0; c < kChannels; ++c) sums[c] = hn::Zero(df);
  for (int32_t k = 0; k < count; ++k, strip += kLanes * kChannels) {
    const VF weight = hn::Set(df, weights[k]);
    for (int c = 0; c < kChannels; ++c)
      sums[c] = hn::Add(sums[c], hn::Mul(hn::Load(df, strip + kLanes * c), weight));
  }
  for (int c = 0; c < kChannels; ++c) hn::Store(sums[c], df, out + kLanes * c);
}

template <int kChannels> void across_of(const FloatRows& in, const Taps<float>& taps, int64_t out_width,
                                        float* out, int64_t out_stride, float* strip) {
  for (int64_t y = 0; y < in.height; y += kLanes) {
    const float* from[kLanes];
    float* to[kLanes];
    for (int64_t r = 0; r < kLanes; ++r) {  // beyond the last row its work is done again
      const int64_t row = std::min(y + r, in.height - 1);
      from[r] = in.data + row * in.stride;
      to[r] = out + row * out_stride;
    }
    fill_strip(from, in.width * kChannels, strip);
    alignas(64) float mixed[4 * kChannels * kLanes];
    for (int64_t x = 0; x < out_width; x += 4) {
      const int64_t pixels = std::min<int64_t>(4, out_width - x);
      for (int64_t i = 0; i < pixels; ++i)
        mix_pixel<kChannels>(strip + taps.first[x + i] * kChannels * kLanes,
                             taps.weights + (x + i) * taps.stride, taps.count[x + i],
                             mixed + i * kChannels * kLanes);
      for (int64_t i = 0; i < pixels * kChannels; i += 4)
        empty_strip(mixed + i * kLanes, pixels * kChannels - i, to, x * kChannels + i);
    }
  }
}

void across_floats(const FloatRows& in, const Taps<float>& taps, int64_t out_width, float* out,
                   int64_t out_stride, float* strip) {
  switch (in.channels) {
    case 1: return across_of<1>(in, taps, out_width, out, out_stride, strip);
    case 2: return across_of<2>(in, taps, out_width, out, out_stride, strip);
    case 3: return across_of<3>(in, taps, out_width, out, out_stride, strip);
    default: return across_of<4>(in, taps, out_width, out, out_stride, strip);
  }
}

// The first numbers of an output row; how many.
int64_t down_floats(const float* in, int64_t stride, const float* weights, int32_t count, float* out,
                    int64_t size) {
  const DF df;
  int64_t at = 0;
  for (; at + 4 * kLanes <= size; at += 4 * kLanes) {
    VF a = hn::Zero(df), b = a, c = a, d = a;
    const float* from = in + at;
    for (int32_t k = 0; k < count; ++k, from += stride) {
      const VF weight = hn::Set(df, weights[k]);
      a = hn::Add(a, hn::Mul(hn::LoadU(df, from), weight));
      b = hn::Add(b, hn::Mul(hn::LoadU(df, from + kLanes), weight));
      c = hn::Add(c, hn::Mul(hn::LoadU(df, from + 2 * kLanes), weight));
      d = hn::Add(d, hn::Mul(hn::LoadU(df, from + 3 * kLanes), weight));
    }
    hn::StoreU(a, df, out + at), hn::StoreU(b, df, out + at + kLanes);
    hn::StoreU(c, df, out + at + 2 * kLanes), hn::StoreU(d, df, out + at + 3 * kLanes);
  }
  for (; at + kLanes <= size; at += kLanes) {
    VF a = hn::Zero(df);
    for (int32_t k = 0; k < count; ++k)
      a = hn::Add(a, hn::Mul(hn::LoadU(df, in + k * stride + at), hn::Set(df, weights[k])));
    hn::StoreU(a, df, out + at);
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

HWY_EXPORT(across_floats);
HWY_EXPORT(down_floats);

constexpr size_t kMostLanes = 16;  // floats in the widest vectors

const float* first_row_of(const FloatRows& in, const Taps<float>& taps, int64_t y) {
  return in.data + (taps.first[y] - in.first_row) * in.stride;
}

void down_row_scalar(const float* rows, int64_t stride, const float* weights, int32_t count, float* out,
                     int64_t begin, int64_t end) {
  for (int64_t x = begin; x < end; ++x) {
    float sum = 0;
    for (int32_t k = 0; k < count; ++k) sum += rows[k * stride + x] * weights[k];
    out[x] = sum;
  }
}

}  // namespace

size_t across_strip_bytes(int64_t in_width, int channels) {
  return static_cast<size_t>(in_width * channels) * kMostLanes * sizeof(float);
}

void resample_across(const FloatRows& in, const Taps<float>& taps, int64_t out_width, float* out,
                     int64_t out_stride, std::byte* strip) {
  HWY_DYNAMIC_DISPATCH(across_floats)
  (in, taps, out_width, out, out_stride, reinterpret_cast<float*>(strip));
}

void resample_down(const FloatRows& in, const Taps<float>& taps, int64_t out_height, float* out,
                   int64_t out_stride) {
  const int64_t size = in.width * in.channels;
  for (int64_t y = 0; y < out_height; ++y, out += out_stride) {
    const float* rows = first_row_of(in, taps, y);
    const float* weights = taps.weights + y * taps.stride;
    const int64_t done =
        HWY_DYNAMIC_DISPATCH(down_floats)(rows, in.stride, weights, taps.count[y], out, size);
    down_row_scalar(rows, in.stride, weights, taps.count[y], out, done, size);
  }
}

void resample_across_scalar(const FloatRows& in, const Taps<float>& taps, int64_t out_width, float* out,
                            int64_t out_stride) {
  for (int64_t y = 0; y < in.height; ++y)
    for (int64_t x = 0; x < out_width; ++x)
      for (int c = 0; c < in.channels; ++c) {
        const float* pixel = in.data + y * in.stride + taps.first[x] * in.channels + c;
        const float* weights = taps.weights + x * taps.stride;
        float sum = 0;
        for (int32_t k = 0; k < taps.count[x]; ++k) sum += pixel[k * in.channels] * weights[k];
        out[y * out_stride + x * in.channels + c] = sum;
      }
}

void resample_down_scalar(const FloatRows& in, const Taps<float>& taps, int64_t out_height, float* out,
                          int64_t out_stride) {
  for (int64_t y = 0; y < out_height; ++y)
    down_row_scalar(first_row_of(in, taps, y), in.stride, taps.weights + y * taps.stride, taps.count[y],
                    out + y * out_stride, 0, in.width * in.channels);
}

}  // namespace headrace::kernels
#endif
