#include "headrace/kernels/plane_taps.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "headrace/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headrace/kernels/plane_taps.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef HEADRACE_KERNELS_PLANE_TAPS_WINDOW
#define HEADRACE_KERNELS_PLANE_TAPS_WINDOW
namespace headrace::kernels {

inline constexpr int kWeightBits = 14;
inline int64_t rounded_up(int64_t count) { return (count + 7) / 8 * 8; }

inline constexpr int kRoundUp = 1 << 20;
// To the nearest integer, for x above -2^20; faster than the library function, which would be called for each
// weight.
inline int rounded(double x) { return static_cast<int>(x + (kRoundUp + 0.5)) - kRoundUp; }

// The window of one axis: that of a plain resize (taps.cc), around a centre that may be within a sample.
struct PlaneWindow {
  double scale, filter_scale, support;
  explicit PlaneWindow(const PlaneAxis& axis)
      : scale(axis.size / static_cast<double>(axis.grid)),
        filter_scale(axis.antialias ? std::max(scale, 1.0) : 1.0),
        support(filter_support(axis.interpolation) * filter_scale) {}

  double center(const PlaneAxis& axis, int64_t i) const {
    const int64_t at = axis.first + (axis.reversed ? axis.count - 1 - i : i);
    return axis.begin + (static_cast<double>(at) + 0.5) * scale;
  }
  // The samples around it that count, at least one.
  std::pair<int64_t, int64_t> around(const PlaneAxis& axis, double center) const {
    const int64_t first = std::clamp<int64_t>(rounded(center - support), axis.low, axis.high - 1);
    return {first, std::clamp<int64_t>(rounded(center + support), first + 1, axis.high)};
  }
};

}  // namespace headrace::kernels
#endif

// The SIMD form returns 0 where the scalar twin must do it.
HWY_BEFORE_NAMESPACE();
namespace headrace::kernels {
namespace HWY_NAMESPACE {
#if HEADRACE_NO_SIMD

int32_t make_taps(const PlaneAxis&, int32_t*, int32_t*) { return 0; }

#else
namespace hn = hwy::HWY_NAMESPACE;

using Doubles = hn::CappedTag<double, 8>;
using Double = hn::Vec<Doubles>;
using Ints = hn::Rebind<int32_t, Doubles>;

// The windows of as many outputs as there are lanes; past the end the last one again. The same steps in the
// same order as plane_taps_scalar.
class Windows {
 public:
  explicit HWY_INLINE Windows(const PlaneAxis& axis) : axis_(axis), window_(axis) {}

  HWY_INLINE void seek(int64_t i) {
    const Doubles d;
    const auto last = static_cast<double>(axis_.count - 1);
    const Double index = hn::Min(hn::Iota(d, static_cast<double>(i)), hn::Set(d, last));
    // Integers, so exact. (When told to choose between two vectors, GCC 12 did so in the first lane only.)
    const double from = static_cast<double>(axis_.first) + (axis_.reversed ? last : 0);
    const Double step = hn::Mul(index, hn::Set(d, axis_.reversed ? -1 : 1));
    const Double at = hn::Add(hn::Set(d, from), step);
    center_ =
        hn::Add(hn::Set(d, axis_.begin), hn::Mul(hn::Add(at, hn::Set(d, 0.5)), hn::Set(d, window_.scale)));
    const Double support = hn::Set(d, window_.support);
    const Double low = hn::Set(d, static_cast<double>(axis_.low)), one = hn::Set(d, 1);
    const Double high = hn::Set(d, static_cast<double>(axis_.high));
    first_ = hn::Min(hn::Max(whole(hn::Sub(center_, support)), low), hn::Sub(high, one));
    const Double end = hn::Min(hn::Max(whole(hn::Add(center_, support)), hn::Add(first_, one)), high);
    count_ = hn::Sub(end, first_);
  }

  HWY_INLINE Double first() const { return first_; }
  HWY_INLINE Double count() const { return count_; }

  // Calls f with k and the weight of the k-th sample of each window, for each k below `needed`.
  template <Interpolation kFilter, class F> HWY_INLINE void weigh(int32_t needed, F&& f) const {
    const Doubles d;
    Double sum = hn::Zero(d);
    for (int32_t k = 0; k < needed; ++k) sum = hn::Add(sum, exact<kFilter>(k));
    const auto is_empty = hn::Eq(sum, hn::Zero(d));
    const Double one = hn::Set(d, 1);
    const Double scale = hn::Div(hn::Set(d, 1 << kWeightBits), hn::IfThenElse(is_empty, one, sum));
    Double total = hn::IfThenElse(is_empty, one, exact<kFilter>(0));
    auto before = hn::Zero(Ints());
    for (int32_t k = 0;;) {
      const auto has_next = hn::Lt(hn::Set(d, k + 1), count_);
      const auto now = rounded(hn::IfThenElse(has_next, hn::Mul(total, scale), hn::Set(d, 1 << kWeightBits)));
      f(k, hn::Sub(now, before));
      if (++k == needed) return;
      before = now;
      total = hn::Add(total, exact<kFilter>(k));
    }
  }

 private:
  static HWY_INLINE hn::Vec<Ints> rounded(Double x) {
    const Double up = hn::Add(x, hn::Set(Doubles(), kRoundUp + 0.5));
    return hn::Sub(hn::DemoteTo(Ints(), up), hn::Set(Ints(), kRoundUp));
  }
  static HWY_INLINE Double whole(Double x) { return hn::PromoteTo(Doubles(), rounded(x)); }

  template <Interpolation kFilter> HWY_INLINE Double exact(int32_t k) const {
    const Doubles d;
    const Double at = hn::Sub(hn::Add(first_, hn::Set(d, k)), center_);
    const Double x = hn::Abs(hn::Mul(hn::Add(at, hn::Set(d, 0.5)), hn::Set(d, 1.0 / window_.filter_scale)));
    return hn::IfThenElseZero(hn::Lt(hn::Set(d, k), count_), filtered<kFilter>(x));
  }
  // filter_value of |x|.
  template <Interpolation kFilter> static HWY_INLINE Double filtered(Double x) {
    const auto set = [](double value) HWY_ATTR { return hn::Set(Doubles(), value); };
    const auto is_near = hn::Lt(x, set(1));
    if constexpr (kFilter == Interpolation::bilinear) return hn::IfThenElseZero(is_near, hn::Sub(set(1), x));
    constexpr double a = -0.5;
    const Double near = hn::Add(hn::Mul(hn::Mul(hn::Sub(hn::Mul(set(a + 2), x), set(a + 3)), x), x), set(1));
    const Double far =
        hn::Mul(hn::Sub(hn::Mul(hn::Add(hn::Mul(hn::Sub(x, set(5)), x), set(8)), x), set(4)), set(a));
    return hn::IfThenElse(is_near, near, hn::IfThenElseZero(hn::Lt(x, set(2)), far));
  }

  const PlaneAxis& axis_;
  const PlaneWindow window_;
  Double center_ = hn::Zero(Doubles()), first_ = center_, count_ = center_;
};

template <Interpolation kFilter> int32_t taps_of(const PlaneAxis& axis, int32_t* first, int32_t* weights) {
  const Doubles d;
  const Ints ints;
  constexpr auto kOutputs = static_cast<int64_t>(hn::MaxLanes(Doubles()));
  Windows windows(axis);
  Double most = hn::Zero(d);
  for (int64_t i = 0; i < rounded_up(axis.count); i += kOutputs) {
    windows.seek(i);
    hn::StoreU(hn::DemoteTo(ints, windows.first()), ints, first + i);
    most = hn::Max(most, windows.count());
  }
  const auto needed = static_cast<int32_t>(hn::GetLane(hn::MaxOfLanes(d, most)));
  for (int64_t i = 0; i < rounded_up(axis.count); i += kOutputs) {
    windows.seek(i);
    windows.weigh<kFilter>(needed, [&](int32_t k, hn::Vec<Ints> weight) HWY_ATTR {
      const auto both = hn::Or(hn::ShiftLeft<16>(weight), hn::And(weight, hn::Set(ints, 0xFFFF)));
      int32_t lanes[kOutputs];
      hn::StoreU(both, ints, lanes);
      for (int64_t lane = 0; lane < kOutputs; ++lane) weights[(i + lane) * needed + k] = lanes[lane];
    });
  }
  return needed;
}

// Returns the window, for which `weights` has room.
int32_t make_taps(const PlaneAxis& axis, int32_t* first, int32_t* weights) {
  return axis.interpolation == Interpolation::bicubic
             ? taps_of<Interpolation::bicubic>(axis, first, weights)
             : taps_of<Interpolation::bilinear>(axis, first, weights);
}

#endif
}  // namespace HWY_NAMESPACE
}  // namespace headrace::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::kernels {
namespace {

HWY_EXPORT(make_taps);

// On an axis without an end.
int64_t longest_of_any(const PlaneAxis& axis) {
  return static_cast<int64_t>(std::ceil(2 * PlaneWindow(axis).support)) + 1;
}
int32_t longest(const PlaneAxis& axis) {
  return static_cast<int32_t>(std::min(longest_of_any(axis), axis.high - axis.low));
}
bool is_long(const PlaneAxis& axis) { return longest_of_any(axis) > kMostProducts; }

int32_t both_halves(int weight) {
  const uint32_t bits = static_cast<uint32_t>(weight) & 0xFFFF;
  return static_cast<int32_t>(bits << 16 | bits);
}

}  // namespace

size_t plane_taps_bytes(const PlaneAxis& axis) {
  const auto window = static_cast<size_t>(longest(axis));
  return window * sizeof(double) + static_cast<size_t>(rounded_up(axis.count)) * 4 * (1 + window);
}

PlaneTaps plane_taps(const PlaneAxis& axis, std::byte* memory) {
  auto* const first = reinterpret_cast<int32_t*>(memory);
  int32_t* const weights = first + rounded_up(axis.count);
  const int32_t window =
      is_for_planes(axis.interpolation) ? HWY_DYNAMIC_DISPATCH(make_taps)(axis, first, weights) : 0;
  if (window == 0) return plane_taps_scalar(axis, memory);
  return {first, weights, axis.count, window, is_long(axis)};
}

PlaneTaps plane_taps_scalar(const PlaneAxis& axis, std::byte* memory) {
  const PlaneWindow window(axis);
  const int32_t most = longest(axis);
  auto* exact = reinterpret_cast<double*>(memory);
  auto* first = reinterpret_cast<int32_t*>(exact + most);
  int32_t* const weights = first + rounded_up(axis.count);
  int32_t needed = 1;
  for (int64_t i = 0; i < axis.count; ++i) {
    const auto [begin, end] = window.around(axis, window.center(axis, i));
    first[i] = static_cast<int32_t>(begin);
    needed = std::max(needed, static_cast<int32_t>(end - begin));
  }
  const double inverse = 1.0 / window.filter_scale;
  int32_t* weight = weights;
  for (int64_t i = 0; i < axis.count; ++i, weight += needed) {
    const double center = window.center(axis, i);
    const auto [begin, end] = window.around(axis, center);
    const auto count = static_cast<int32_t>(end - begin);
    double sum = 0;
    for (int32_t k = 0; k < count; ++k)
      sum += exact[k] =
          filter_value(axis.interpolation, (static_cast<double>(begin + k) - center + 0.5) * inverse);
    if (sum == 0) sum = exact[0] = 1;
    // Weights that are rounded so that the sum of any first ones is correct to one unit: their total is
    // exact.
    const double scale = (1 << kWeightBits) / sum;
    double total = 0;
    int before = 0;
    for (int32_t k = 0; k < needed; ++k) {
      if (k < count) total += exact[k];
      const int now = k + 1 < count ? rounded(total * scale) : 1 << kWeightBits;
      weight[k] = both_halves(now - before);
      before = now;
    }
  }
  for (int64_t i = axis.count; i < rounded_up(axis.count); ++i, weight += needed) {
    first[i] = first[axis.count - 1];
    std::copy_n(weight - needed, needed, weight);
  }
  return {first, weights, axis.count, needed, is_long(axis)};
}

}  // namespace headrace::kernels
#endif
