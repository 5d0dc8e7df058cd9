#include "headrace/kernels/resize.h"

#include <algorithm>
#include <cstring>

#include "headrace/kernels/resample_rows.h"

namespace headrace::kernels {
namespace {

// Cuts the caller's scratch into pieces, or counts how much they need when there is none.
class Pieces {
 public:
  explicit Pieces(std::byte* memory) : memory_(memory) {}
  std::byte* take(int64_t size) {
    std::byte* piece = memory_ ? memory_ + used_ : nullptr;
    used_ += (size + 63) / 64 * 64;
    return piece;
  }
  size_t used() const { return static_cast<size_t>(used_); }

 private:
  std::byte* memory_;
  int64_t used_ = 0;
};

Axis columns(const Resize& r) { return {r.in_width, r.out_width, r.interpolation, r.antialias}; }
Axis rows(const Resize& r) { return {r.in_height, r.out_height, r.interpolation, r.antialias}; }

struct Memory {
  std::byte *column_taps, *row_taps, *across, *down, *tail, *between;
};

// Of the image that the first pass hands to the second.
int64_t between_bytes(const Resize& r) {
  return (across_first(r) ? r.in_height * r.out_width : r.out_height * r.in_width) * r.channels;
}

Memory cut(const Resize& r, Pieces& pieces) {
  const int64_t columns_window = longest_window(columns(r)), row = r.in_width * r.channels;
  const int64_t slack = columns_window * r.channels + 16;
  Memory m;
  m.column_taps = pieces.take(static_cast<int64_t>(taps_bytes(columns(r))));
  m.row_taps = pieces.take(static_cast<int64_t>(taps_bytes(rows(r))));
  m.across = pieces.take(static_cast<int64_t>(across_scratch_bytes(r.out_width, columns_window)));
  m.down = pieces.take(static_cast<int64_t>(down_scratch_bytes(longest_window(rows(r)))));
  m.tail = pieces.take(std::min(r.in_height, slack / row + 1) * (row + slack));
  m.between = pieces.take(between_bytes(r) + slack);
  return m;
}

template <class T>
void copy_rows(const T* in, int64_t in_stride, T* out, int64_t out_stride, int64_t height, int64_t row) {
  for (int64_t y = 0; y < height; ++y)
    std::memcpy(out + y * out_stride, in + y * in_stride, static_cast<size_t>(row) * sizeof(T));
}

// Take the pixel under the centre of each output pixel. Positions are summed up as Pillow does, rounding
// errors included.
template <class T> void nearest(const Resize& r, const T* in, int64_t in_stride, T* out, int64_t out_stride,
                                std::byte* scratch) {
  auto* offsets = reinterpret_cast<int64_t*>(scratch);
  const auto positions = [](int64_t in_side, int64_t out_side, auto&& take) {
    const double step = static_cast<double>(in_side) / static_cast<double>(out_side);
    double at = step * 0.5;
    for (int64_t i = 0; i < out_side; ++i, at += step)
      take(i, std::min(static_cast<int64_t>(at), in_side - 1));
  };
  positions(r.in_width, r.out_width, [&](int64_t i, int64_t at) { offsets[i] = at * r.channels; });
  positions(r.in_height, r.out_height, [&](int64_t y, int64_t at) {
    const T* from = in + at * in_stride;
    T* to = out + y * out_stride;
    for (int64_t x = 0; x < r.out_width; ++x)
      for (int c = 0; c < r.channels; ++c) *to++ = from[offsets[x] + c];
  });
}

enum class Form { simd, scalar };

struct Target {
  uint8_t* data;
  int64_t stride;
};

// Across rows that nothing may be read behind: the last ones are copied to where the kernel may.
void across_image(const ByteRows& in, const Resize& r, const Taps<int32_t>& taps, const Memory& m,
                  Target out) {
  const int64_t slack = across_read_slack(in, taps, r.out_width), row = in.width * in.channels;
  const int64_t last_safe = r.in_height - 1 - (slack + in.stride - 1) / in.stride;
  ByteRows safe = in, tail = in;
  safe.height = std::clamp(last_safe + 1 - in.first_row, int64_t{0}, in.height);
  tail.height = in.height - safe.height;
  if (safe.height > 0) resample_across(safe, taps, r.out_width, out.data, out.stride, m.across);
  if (tail.height == 0) return;
  tail.stride = row + slack;
  tail.data = reinterpret_cast<const uint8_t*>(m.tail);
  copy_rows(in.data + safe.height * in.stride, in.stride, reinterpret_cast<uint8_t*>(m.tail), tail.stride,
            tail.height, row);
  resample_across(tail, taps, r.out_width, out.data + safe.height * out.stride, out.stride, m.across);
}

// Across, then down, or only one of the two. Only rows that the second pass looks at go through the first.
void across_then_down(const Resize& r, ByteRows image, Target out, const Memory& m, Form form) {
  Taps<int32_t> down;
  if (r.in_height != r.out_height) {
    down = fixed_taps(rows(r), m.row_taps);
    const int64_t last = r.out_height - 1;
    image.first_row = down.first[0];
    image.data += image.first_row * image.stride;
    image.height = down.first[last] + down.count[last] - image.first_row;
  }
  if (r.in_width != r.out_width) {
    const Taps<int32_t> taps = fixed_taps(columns(r), m.column_taps);
    Target to = out;
    if (down.first) to = {reinterpret_cast<uint8_t*>(m.between), r.out_width * r.channels};
    if (form == Form::simd)
      across_image(image, r, taps, m, to);
    else
      resample_across_scalar(image, taps, r.out_width, to.data, to.stride);
    image = {to.data, to.stride, image.height, r.out_width, image.first_row, r.channels};
  }
  if (!down.first) return;
  if (form == Form::simd)
    resample_down(image, down, r.out_height, out.data, out.stride, m.down);
  else
    resample_down_scalar(image, down, r.out_height, out.data, out.stride);
}

void down_then_across(const Resize& r, const ByteRows& image, Target out, const Memory& m, Form form) {
  const Taps<int32_t> down = fixed_taps(rows(r), m.row_taps), taps = fixed_taps(columns(r), m.column_taps);
  auto* data = reinterpret_cast<uint8_t*>(m.between);
  const ByteRows between{data, image.width * image.channels, r.out_height, image.width, 0, image.channels};
  if (form == Form::simd) {
    resample_down(image, down, r.out_height, data, between.stride, m.down);
    resample_across(between, taps, r.out_width, out.data, out.stride, m.across);
  } else {
    resample_down_scalar(image, down, r.out_height, data, between.stride);
    resample_across_scalar(between, taps, r.out_width, out.data, out.stride);
  }
}

void filter_u8(const Resize& r, const uint8_t* in, int64_t in_stride, uint8_t* out, int64_t out_stride,
               std::byte* scratch, Form form) {
  Pieces pieces(scratch);
  const Memory m = cut(r, pieces);
  const ByteRows image{in, in_stride, r.in_height, r.in_width, 0, r.channels};
  const Target to{out, out_stride};
  if (r.in_height == r.out_height && r.in_width == r.out_width)
    copy_rows(in, in_stride, out, out_stride, r.in_height, r.in_width * r.channels);
  else if (across_first(r))
    across_then_down(r, image, to, m, form);
  else
    down_then_across(r, image, to, m, form);
}

struct FloatRows {
  const float* data;
  int64_t stride;
};

void across_f32(const Resize& r, FloatRows in, const Taps<float>& taps, float* out) {
  for (int64_t y = 0; y < r.in_height; ++y)
    for (int64_t x = 0; x < r.out_width; ++x, out += r.channels) {
      const float* pixel = in.data + y * in.stride + taps.first[x] * r.channels;
      const float* weights = taps.weights + x * taps.stride;
      float sums[4] = {};
      for (int32_t k = 0; k < taps.count[x]; ++k)
        for (int c = 0; c < r.channels; ++c) sums[c] += *pixel++ * weights[k];
      std::copy_n(sums, r.channels, out);
    }
}

void down_f32(const Resize& r, FloatRows in, const Taps<float>& taps, float* out, int64_t out_stride) {
  const int64_t row = r.out_width * r.channels;
  for (int64_t y = 0; y < r.out_height; ++y) {
    float* to = out + y * out_stride;
    std::fill_n(to, row, 0.0f);
    for (int32_t k = 0; k < taps.count[y]; ++k) {
      const float* from = in.data + (taps.first[y] + k) * in.stride;
      const float weight = taps.weights[y * taps.stride + k];
      for (int64_t x = 0; x < row; ++x) to[x] += from[x] * weight;
    }
  }
}

}  // namespace

bool across_first(const Resize& r) {
  if (r.in_width == r.out_width) return true;  // there is one pass, or none
  return r.out_height >= r.in_height || r.in_height - r.out_height <= 2 * (r.in_width - r.out_width);
}

size_t resize_scratch_bytes(const Resize& r) {
  Pieces pieces(nullptr);
  if (r.interpolation == Interpolation::nearest) {
    pieces.take(8 * r.out_width);
  } else {
    cut(r, pieces);
    pieces.take(4 * r.in_height * r.out_width * r.channels);  // what resize_f32 has between its passes
  }
  return pieces.used();
}

void resize_u8(const Resize& r, const uint8_t* in, int64_t in_stride, uint8_t* out, int64_t out_stride,
               std::byte* scratch) {
  if (r.interpolation == Interpolation::nearest)
    nearest(r, in, in_stride, out, out_stride, scratch);
  else
    filter_u8(r, in, in_stride, out, out_stride, scratch, Form::simd);
}

void resize_nearest(const Resize& r, size_t element_size, const std::byte* in, int64_t in_stride,
                    std::byte* out, int64_t out_stride, std::byte* scratch) {
  const auto as = [&]<class T>(T) {
    nearest(r, reinterpret_cast<const T*>(in), in_stride, reinterpret_cast<T*>(out), out_stride, scratch);
  };
  switch (element_size) {
    case 1: return as(uint8_t{});
    case 2: return as(uint16_t{});
    case 4: return as(uint32_t{});
    default: return as(uint64_t{});
  }
}

void resize_u8_scalar(const Resize& r, const uint8_t* in, int64_t in_stride, uint8_t* out, int64_t out_stride,
                      std::byte* scratch) {
  if (r.interpolation == Interpolation::nearest)
    nearest(r, in, in_stride, out, out_stride, scratch);
  else
    filter_u8(r, in, in_stride, out, out_stride, scratch, Form::scalar);
}

void resize_f32(const Resize& r, const float* in, int64_t in_stride, float* out, int64_t out_stride,
                std::byte* scratch) {
  if (r.interpolation == Interpolation::nearest) return nearest(r, in, in_stride, out, out_stride, scratch);
  Pieces pieces(scratch);
  const Memory m = cut(r, pieces);
  FloatRows image{in, in_stride};
  if (r.in_width != r.out_width) {
    auto* between = reinterpret_cast<float*>(m.between);
    across_f32(r, image, float_taps(columns(r), m.column_taps), between);
    image = {between, r.out_width * r.channels};
  }
  if (r.in_height != r.out_height)
    down_f32(r, image, float_taps(rows(r), m.row_taps), out, out_stride);
  else
    copy_rows(image.data, image.stride, out, out_stride, r.out_height, r.out_width * r.channels);
}

}  // namespace headrace::kernels
