// The windows and weights of one axis of a resize: which input pixels an output pixel is made of, and their
// weights.
//
// For the kernels that resize. The arithmetic is Pillow's (double, in its order of operations), so that the
// fixed-point weights are Pillow's too. Memory is the caller's; free functions, any thread.
#pragma once
#include <cstddef>
#include <cstdint>

namespace headrace::kernels {

enum class Interpolation : uint8_t { bilinear, bicubic, nearest, lanczos, box };

// The filter: its value at x, for images that do not shrink, and the |x| beyond which it is zero. REQUIRES:
// not nearest.
double filter_value(Interpolation interpolation, double x);
double filter_support(Interpolation interpolation);

// One axis of a resize. REQUIRES of all functions below: 1 <= in, out <= kMaxSide, and not nearest.
struct Axis {
  int64_t in = 1, out = 1;
  Interpolation interpolation = Interpolation::bilinear;
  bool antialias = true;  // widen the filter when the axis shrinks, so that every input pixel counts
};
inline constexpr int64_t kMaxSide = int64_t{1}
                                    << 24;  // Pillow's scale is a difference of floats: exact up to here
inline constexpr int kPrecisionBits = 32 - 8 - 2;  // of fixed-point weights; one is 1 << kPrecisionBits

// Output i is the sum over k < count[i] of input[first[i] + k] * weights[i * stride + k]. Weights beyond
// count[i] are zero.
template <class Weight> struct Taps {
  const int32_t* first = nullptr;
  const int32_t* count = nullptr;
  const Weight* weights = nullptr;
  int32_t stride = 0;  // the longest window, rounded up to a multiple of four
};

int64_t longest_window(const Axis& axis);                       // Taps::stride is at most this
size_t taps_bytes(const Axis& axis);                            // memory that either of these needs
Taps<int32_t> fixed_taps(const Axis& axis, std::byte* memory);  // `memory` is aligned to 8 bytes
Taps<float> float_taps(const Axis& axis, std::byte* memory);

}  // namespace headrace::kernels
