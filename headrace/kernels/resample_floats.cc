#include "headrace/kernels/resample_floats.h"

#include <algorithm>

#include "headrace/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headrace/kernels/resample_floats.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef HEADRACE_KERNELS_RESAMPLE_FLOATS_ONCE
#define HEADRACE_KERNELS_RESAMPLE_FLOATS_ONCE
namespace headrace::kernels {
namespace {

constexpr int64_t kMostLanes = 16;   // floats in the widest vectors
constexpr int32_t kShortWindow = 4;  // above it transposing the rows is cheaper

void across_pixel_scalar(const float* row, const FloatPlan& plan, int64_t x, float* out) {
  const float* weights = plan.taps.weights + x * plan.taps.stride;
  for (int c = 0; c < plan.channels; ++c) {
    const float* pixel = row + plan.taps.first[x] * plan.channels + c;
    float sum = 0;
    for (int32_t k = 0; k < plan.taps.count[x]; ++k) sum += pixel[k * plan.channels] * weights[k];
    out[x * plan.channels + c] = sum;
  }
}

}  // namespace
}  // namespace headrace::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace headrace::kernels {
namespace HWY_NAMESPACE {
#if HEADRACE_NO_SIMD

bool plan_permuted(FloatPlan&) { return false; }
void across_floats(const FloatPlan& plan, const float* const* rows, int64_t count, float* out,
                   int64_t out_stride) {
  resample_across_scalar(rows, count, plan.channels, plan.taps, plan.out_width, out, out_stride);
}
int64_t down_floats(const float* const*, const float*, int32_t, float*, int64_t) { return 0; }

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

// kLanes rows, transposed: strip[kLanes * i + r] is number i of row r.
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

template <int kChannels> void across_turned(const FloatPlan& plan, const float* const* rows, int64_t count,
                                            float* out, int64_t out_stride) {
  const Taps<float>& taps = plan.taps;
  auto* strip = reinterpret_cast<float*>(plan.memory);
  for (int64_t y = 0; y < count; y += kLanes) {
    const float* from[kLanes];
    float* to[kLanes];
    for (int64_t r = 0; r < kLanes; ++r) {  // past the last row its work is repeated
      const int64_t row = std::min(y + r, count - 1);
      from[r] = rows[row];
      to[r] = out + row * out_stride;
    }
    fill_strip(from, plan.in_width * kChannels, strip);
    alignas(64) float mixed[4 * kChannels * kLanes];
    for (int64_t x = 0; x < plan.out_width; x += 4) {
      const int64_t pixels = std::min<int64_t>(4, plan.out_width - x);
      for (int64_t i = 0; i < pixels; ++i)
        mix_pixel<kChannels>(strip + taps.first[x + i] * kChannels * kLanes,
                             taps.weights + (x + i) * taps.stride, taps.count[x + i],
                             mixed + i * kChannels * kLanes);
      for (int64_t i = 0; i < pixels * kChannels; i += 4)
        empty_strip(mixed + i * kLanes, pixels * kChannels - i, to, x * kChannels + i);
    }
  }
}

// Rows processed together share the loads of the plan.
constexpr int64_t kTogether = 4;
struct RowsTogether {
  const float* from[kTogether];
  float* to[kTogether];
  RowsTogether(const float* const* rows, int64_t count, int64_t first, float* out, int64_t out_stride) {
    for (int64_t r = 0; r < kTogether; ++r) {  // past the last row its work is repeated
      const int64_t row = std::min(first + r, count - 1);
      from[r] = rows[row];
      to[r] = out + row * out_stride;
    }
  }
};

// Three or four channels: a pixel is a vector. With three, the fourth number belongs to the next pixel, whose
// result overwrites it; so the last pixels are left to the scalar twin.
void across_pixels(const FloatPlan& plan, const float* const* rows, int64_t count, float* out,
                   int64_t out_stride) {
  const hn::CappedTag<float, 4> d4;
  const Taps<float>& taps = plan.taps;
  int64_t safe = plan.out_width;
  if (plan.channels == 3)
    for (--safe; safe > 0 && taps.first[safe - 1] + taps.count[safe - 1] >= plan.in_width;) --safe;
  for (int64_t y = 0; y < count; y += kTogether) {
    const RowsTogether together(rows, count, y, out, out_stride);
    for (int64_t x = 0; x < safe; ++x) {
      const float* weights = taps.weights + x * taps.stride;
      auto a = hn::Zero(d4), b = a, c = a, d = a;
      for (int64_t k = 0, at = taps.first[x] * plan.channels; k < taps.count[x]; ++k, at += plan.channels) {
        const auto weight = hn::Set(d4, weights[k]);
        a = hn::Add(a, hn::Mul(hn::LoadU(d4, together.from[0] + at), weight));
        b = hn::Add(b, hn::Mul(hn::LoadU(d4, together.from[1] + at), weight));
        c = hn::Add(c, hn::Mul(hn::LoadU(d4, together.from[2] + at), weight));
        d = hn::Add(d, hn::Mul(hn::LoadU(d4, together.from[3] + at), weight));
      }
      const int64_t to = x * plan.channels;
      hn::StoreU(a, d4, together.to[0] + to), hn::StoreU(b, d4, together.to[1] + to);
      hn::StoreU(c, d4, together.to[2] + to), hn::StoreU(d, d4, together.to[3] + to);
    }
    for (int64_t r = 0; r < kTogether; ++r)
      for (int64_t x = safe; x < plan.out_width; ++x)
        across_pixel_scalar(together.from[r], plan, x, together.to[r]);
  }
}

// A vector of outputs, or the lower half of one, whose windows are within two vectors of input: for each tap,
// which of these lanes, and the weights.
struct alignas(64) PermutedVector {
  int32_t lanes[kShortWindow][kLanes];
  float weights[kShortWindow][kLanes];
  int32_t counts[kLanes];
  int32_t from, to;  // where it starts in the rows of input and of output
  bool even;         // all windows have the longest size
};

// False when a vector's windows are not close enough together.
bool plan_permuted_vector(const FloatPlan& plan, int64_t to, PermutedVector& vector) {
  const Taps<float>& taps = plan.taps;
  const int64_t in_row = plan.in_width * plan.channels;
  const int64_t from = std::min<int64_t>(taps.first[to / plan.channels] * plan.channels, in_row - 2 * kLanes);
  vector = {};
  vector.from = static_cast<int32_t>(from), vector.to = static_cast<int32_t>(to);
  vector.even = true;
  for (int64_t lane = 0; lane < plan.lanes; ++lane) {
    const int64_t x = (to + lane) / plan.channels, c = (to + lane) % plan.channels;
    vector.counts[lane] = taps.count[x];
    vector.even &= taps.count[x] == plan.longest;
    for (int32_t k = 0; k < plan.longest; ++k) {
      const int64_t pixel = taps.first[x] + std::min(k, taps.count[x] - 1);
      const int64_t at = pixel * plan.channels + c - from;
      if (at >= 2 * kLanes) return false;
      vector.lanes[k][lane] = static_cast<int32_t>(at);
      vector.weights[k][lane] = taps.weights[x * taps.stride + k];
    }
  }
  return true;
}

bool plan_permuted(FloatPlan& plan) {
  const int64_t out_row = plan.out_width * plan.channels;
  if (plan.longest > kShortWindow || plan.in_width * plan.channels < 2 * kLanes) return false;
  auto* vectors = reinterpret_cast<PermutedVector*>(plan.memory);
  for (plan.lanes = kLanes; plan.lanes >= kLanes / 2; plan.lanes /= 2) {
    plan.vectors = (out_row + plan.lanes - 1) / plan.lanes;
    int64_t i = 0;  // the last vector overlaps the one before
    while (i < plan.vectors && out_row >= plan.lanes &&
           plan_permuted_vector(plan, std::min(i * plan.lanes, out_row - plan.lanes), vectors[i]))
      ++i;
    if (i == plan.vectors) return true;
  }
  return false;
}

// Lanes of two vectors, as if the upper followed the lower.
class TwoVectorLanes {
 public:
  explicit TwoVectorLanes(const int32_t* lanes) : lanes_(hn::Load(hn::RebindToSigned<DF>(), lanes)) {}
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  VF operator()(VF lower, VF upper) const {
    return VF{_mm512_permutex2var_ps(lower.raw, lanes_.raw, upper.raw)};
  }
#else
  VF operator()(VF lower, VF upper) const {
    const DF df;
    const hn::RebindToSigned<DF> di;
    const auto last = hn::Set(di, static_cast<int32_t>(kLanes - 1));
    const auto within = hn::IndicesFromVec(df, hn::And(lanes_, last));
    return hn::IfThenElse(hn::RebindMask(df, hn::Gt(lanes_, last)), hn::TableLookupLanes(upper, within),
                          hn::TableLookupLanes(lower, within));
  }
#endif

 private:
  hn::Vec<hn::RebindToSigned<DF> > lanes_;
};

template <int kTaps, bool kEven>
HWY_INLINE void across_vector(const PermutedVector& v, const RowsTogether& rows, bool whole) {
  const DF df;
  const hn::RebindToSigned<DF> di;
  VF sums[kTogether], lower[kTogether], upper[kTogether];
  for (int64_t r = 0; r < kTogether; ++r) {
    sums[r] = hn::Zero(df);
    lower[r] = hn::LoadU(df, rows.from[r] + v.from), upper[r] = hn::LoadU(df, rows.from[r] + v.from + kLanes);
  }
  for (int k = 0; k < kTaps; ++k) {
    const TwoVectorLanes lanes(v.lanes[k]);
    const VF weights = hn::Load(df, v.weights[k]);
    const auto counts = hn::RebindMask(df, hn::Gt(hn::Load(di, v.counts), hn::Set(di, k)));
    for (int64_t r = 0; r < kTogether; ++r) {
      const VF sum = hn::Add(sums[r], hn::Mul(lanes(lower[r], upper[r]), weights));
      sums[r] = kEven ? sum : hn::IfThenElse(counts, sum, sums[r]);
    }
  }
  const hn::Half<DF> half;
  for (int64_t r = 0; r < kTogether; ++r)
    if (whole)
      hn::StoreU(sums[r], df, rows.to[r] + v.to);
    else
      hn::StoreU(hn::LowerHalf(half, sums[r]), half, rows.to[r] + v.to);
}

template <int kTaps> void across_permuted(const FloatPlan& plan, const float* const* rows, int64_t count,
                                          float* out, int64_t out_stride) {
  const auto* vectors = reinterpret_cast<const PermutedVector*>(plan.memory);
  const bool whole = plan.lanes == kLanes;
  for (int64_t y = 0; y < count; y += kTogether) {
    const RowsTogether together(rows, count, y, out, out_stride);
    for (int64_t i = 0; i < plan.vectors; ++i)
      if (vectors[i].even)
        across_vector<kTaps, true>(vectors[i], together, whole);
      else
        across_vector<kTaps, false>(vectors[i], together, whole);
  }
}

void across_floats(const FloatPlan& plan, const float* const* rows, int64_t count, float* out,
                   int64_t out_stride) {
  if (plan.form == FloatPlan::Form::pixels) return across_pixels(plan, rows, count, out, out_stride);
  if (plan.form == FloatPlan::Form::permuted) switch (plan.longest) {
      case 1: return across_permuted<1>(plan, rows, count, out, out_stride);
      case 2: return across_permuted<2>(plan, rows, count, out, out_stride);
      case 3: return across_permuted<3>(plan, rows, count, out, out_stride);
      default: return across_permuted<4>(plan, rows, count, out, out_stride);
    }
  switch (plan.channels) {
    case 1: return across_turned<1>(plan, rows, count, out, out_stride);
    case 2: return across_turned<2>(plan, rows, count, out, out_stride);
    case 3: return across_turned<3>(plan, rows, count, out, out_stride);
    default: return across_turned<4>(plan, rows, count, out, out_stride);
  }
}

// The first numbers of an output row; returns how many.
int64_t down_floats(const float* const* rows, const float* weights, int32_t count, float* out, int64_t size) {
  const DF df;
  int64_t at = 0;
  for (; at + 4 * kLanes <= size; at += 4 * kLanes) {
    VF a = hn::Zero(df), b = a, c = a, d = a;
    for (int32_t k = 0; k < count; ++k) {
      const float* from = rows[k] + at;
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
      a = hn::Add(a, hn::Mul(hn::LoadU(df, rows[k] + at), hn::Set(df, weights[k])));
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

HWY_EXPORT(plan_permuted);
HWY_EXPORT(across_floats);
HWY_EXPORT(down_floats);

void down_from(const float* const* rows, const float* weights, int32_t count, float* out, int64_t begin,
               int64_t end) {
  for (int64_t x = begin; x < end; ++x) {
    float sum = 0;
    for (int32_t k = 0; k < count; ++k) sum += rows[k][x] * weights[k];
    out[x] = sum;
  }
}

}  // namespace

size_t float_plan_bytes(int64_t in_width, int64_t out_width, int channels) {
  const int64_t strip = in_width * channels * kMostLanes * static_cast<int64_t>(sizeof(float));
  // A vector of four lanes, or half of it, needs the most memory.
  const int64_t vectors = (out_width * channels / 2 + 1) * 256 + 1024;
  return static_cast<size_t>(std::max(strip, vectors));
}

FloatPlan plan_floats(const Taps<float>& taps, int64_t in_width, int64_t out_width, int channels,
                      std::byte* memory) {
  const int32_t longest = *std::max_element(taps.count, taps.count + out_width);
  FloatPlan plan{FloatPlan::Form::turned, taps, longest, in_width, out_width, channels, 0, 0, memory};
  if (HWY_DYNAMIC_DISPATCH(plan_permuted)(plan))
    plan.form = FloatPlan::Form::permuted;
  else if (channels >= 3 && longest <= kShortWindow)
    plan.form = FloatPlan::Form::pixels;
  return plan;
}

void resample_across(const FloatPlan& plan, const float* const* rows, int64_t count, float* out,
                     int64_t out_stride) {
  HWY_DYNAMIC_DISPATCH(across_floats)(plan, rows, count, out, out_stride);
}

void resample_down(const float* const* rows, const float* weights, int32_t count, float* out, int64_t size) {
  const int64_t done = HWY_DYNAMIC_DISPATCH(down_floats)(rows, weights, count, out, size);
  down_from(rows, weights, count, out, done, size);
}

void resample_across_scalar(const float* const* rows, int64_t count, int channels, const Taps<float>& taps,
                            int64_t out_width, float* out, int64_t out_stride) {
  const FloatPlan plan{FloatPlan::Form::turned, taps, 1, 0, out_width, channels, 0, 0, nullptr};
  for (int64_t y = 0; y < count; ++y)
    for (int64_t x = 0; x < out_width; ++x) across_pixel_scalar(rows[y], plan, x, out + y * out_stride);
}

void resample_down_scalar(const float* const* rows, const float* weights, int32_t count, float* out,
                          int64_t size) {
  down_from(rows, weights, count, out, 0, size);
}

}  // namespace headrace::kernels
#endif
