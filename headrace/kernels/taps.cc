#include "headrace/kernels/taps.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace headrace::kernels {
namespace {

double bilinear(double x) {
  x = std::abs(x);
  return x < 1.0 ? 1.0 - x : 0.0;
}

// Bicubic convolution with a = -0.5.
double bicubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
  if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
  return 0.0;
}

// sin(pi * x). Our own, because the last bit of the library's depends on the machine.
double sin_pi(double x) {
  constexpr double pi = 3.14159265358979323846;
  constexpr auto kSeries = [] {  // of sin(a) / a in powers of a * a
    std::array<double, 11> terms{1};
    for (size_t n = 1; n < terms.size(); ++n)
      terms[n] = -terms[n - 1] / static_cast<double>(2 * n * (2 * n + 1));
    return terms;
  }();
  const auto whole = static_cast<int64_t>(x + (x < 0 ? -0.5 : 0.5));
  const double angle = (x - static_cast<double>(whole)) * pi, square = angle * angle;
  double sum = 0;
  for (size_t n = kSeries.size(); n-- > 0;) sum = sum * square + kSeries[n];
  return whole % 2 == 0 ? angle * sum : -angle * sum;
}

double sinc(double x) {
  constexpr double pi = 3.14159265358979323846;
  return x == 0 ? 1.0 : sin_pi(x) / (x * pi);
}

double lanczos(double x) { return x >= -3.0 && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0; }

// Every input pixel whose centre lies within the output pixel counts the same.
double box(double x) { return x > -0.5 && x <= 0.5 ? 1.0 : 0.0; }

struct Window {
  double scale = 1, filter_scale = 1, support = 1;
  explicit Window(const Axis& axis) {
    scale = static_cast<double>(axis.in) / static_cast<double>(axis.out);
    filter_scale = axis.antialias ? std::max(scale, 1.0) : 1.0;
    support = filter_support(axis.interpolation) * filter_scale;
  }
};

int32_t to_weight(double w, int32_t) {
  return static_cast<int32_t>((w < 0 ? -0.5 : 0.5) + w * (1 << kPrecisionBits));
}
float to_weight(double w, float) { return static_cast<float>(w); }

// The weights of the window [first, first + count) around `center`, normalised to a sum of one; `inverse` is
// that of the filter's scale.
void weigh(Interpolation interpolation, double inverse, double center, int32_t first, int32_t count,
           double* weights) {
  double sum = 0;
  for (int32_t k = 0; k < count; ++k) {
    const double x = (k + first - center + 0.5) * inverse;
    weights[k] = filter_value(interpolation, x);
    sum += weights[k];
  }
  if (sum == 0 || sum == 1) return;  // mostly 1, where nothing is widened
  for (int32_t k = 0; k < count; ++k) weights[k] /= sum;
}

template <class Weight> Taps<Weight> make_taps(const Axis& axis, std::byte* memory) {
  auto* exact = reinterpret_cast<double*>(memory);
  auto* first = reinterpret_cast<int32_t*>(exact + longest_window(axis));
  int32_t* count = first + axis.out;
  auto* weights = reinterpret_cast<Weight*>(count + axis.out);
  const Window window(axis);
  int32_t longest = 1;
  for (int64_t i = 0; i < axis.out; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * window.scale;
    first[i] = std::max(0, static_cast<int32_t>(center - window.support + 0.5));
    const auto end = std::min(axis.in, static_cast<int64_t>(center + window.support + 0.5));
    count[i] = static_cast<int32_t>(end) - first[i];
    longest = std::max(longest, count[i]);
  }
  const int32_t stride = (longest + 3) / 4 * 4;
  const double inverse = 1.0 / window.filter_scale;
  for (int64_t i = 0; i < axis.out; ++i) {
    weigh(axis.interpolation, inverse, (static_cast<double>(i) + 0.5) * window.scale, first[i], count[i],
          exact);
    Weight* row = weights + i * stride;
    for (int32_t k = 0; k < stride; ++k) row[k] = k < count[i] ? to_weight(exact[k], Weight{}) : Weight{};
  }
  return {first, count, weights, stride};
}

}  // namespace

double filter_value(Interpolation interpolation, double x) {
  switch (interpolation) {
    case Interpolation::bicubic: return bicubic(x);
    case Interpolation::lanczos: return lanczos(x);
    case Interpolation::box: return box(x);
    default: return bilinear(x);
  }
}

double filter_support(Interpolation interpolation) {
  switch (interpolation) {
    case Interpolation::bicubic: return 2.0;
    case Interpolation::lanczos: return 3.0;
    case Interpolation::box: return 0.5;
    default: return 1.0;
  }
}

// One more than the exact bound, for the rounding of the two ends of a window; then a multiple of four.
int64_t longest_window(const Axis& axis) {
  const int64_t window = std::min(axis.in, static_cast<int64_t>(std::ceil(2 * Window(axis).support)) + 1);
  return (window + 3) / 4 * 4;
}

size_t taps_bytes(const Axis& axis) {
  const int64_t window = longest_window(axis);
  return static_cast<size_t>(8 * window + axis.out * (4 + 4 + 4 * window));
}

Taps<int32_t> fixed_taps(const Axis& axis, std::byte* memory) { return make_taps<int32_t>(axis, memory); }
Taps<float> float_taps(const Axis& axis, std::byte* memory) { return make_taps<float>(axis, memory); }

}  // namespace headrace::kernels
