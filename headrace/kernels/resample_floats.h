// The two passes of an f32 resize, each one SIMD kernel with a scalar twin that gives the same bits: an
// output is the sum of its products in the order of its taps, each product and sum rounded to f32.
//
// For resize.cc. Free functions, any thread; memory is the caller's. Nothing beyond the ends of rows is read
// or written.
#pragma once
#include <cstddef>
#include <cstdint>

#include "headrace/kernels/taps.h"

namespace headrace::kernels {

// The plan of a pass across: which form, and its data. Made for the SIMD target in use.
struct FloatPlan {
  enum class Form { permuted, pixels, turned } form = Form::turned;
  Taps<float> taps;
  int32_t longest = 1;  // window
  int64_t in_width = 1, out_width = 1;
  int channels = 1;
  int64_t vectors = 0, lanes = 0;  // of the permuted form: how many, and how many outputs in each
  std::byte* memory = nullptr;
};

// `memory` has float_plan_bytes, aligned to 64; it is also scratch of resample_across.
FloatPlan plan_floats(const Taps<float>& taps, int64_t in_width, int64_t out_width, int channels,
                      std::byte* memory);
size_t float_plan_bytes(int64_t in_width, int64_t out_width, int channels);

// Mixes each of `count` rows into a row of `out`.
void resample_across(const FloatPlan& plan, const float* const* rows, int64_t count, float* out,
                     int64_t out_stride);

// Mixes `count` rows of `size` floats into one.
void resample_down(const float* const* rows, const float* weights, int32_t count, float* out, int64_t size);

// The scalar twins: same bits, one at a time.
void resample_across_scalar(const float* const* rows, int64_t count, int channels, const Taps<float>& taps,
                            int64_t out_width, float* out, int64_t out_stride);
void resample_down_scalar(const float* const* rows, const float* weights, int32_t count, float* out,
                          int64_t size);

}  // namespace headrace::kernels
