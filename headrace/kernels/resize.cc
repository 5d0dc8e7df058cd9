#include "headrace/kernels/resize.h"

#include <algorithm>
#include <cstring>

#include "headrace/kernels/planes.h"
#include "headrace/kernels/resample_floats.h"
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

constexpr int64_t kWovenRows = 16;  // see across_woven

struct Memory {
  std::byte *column_taps, *row_taps, *across, *down, *tail, *woven, *between;
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
  m.woven = pieces.take(r.channels == 1 ? kWovenRows * (r.in_width + columns_window + 16 + r.out_width) : 0);
  m.between = pieces.take(between_bytes(r) + slack);
  return m;
}

template <class T>
void copy_rows(const T* in, int64_t in_stride, T* out, int64_t out_stride, int64_t height, int64_t row) {
  for (int64_t y = 0; y < height; ++y)
    std::memcpy(out + y * out_stride, in + y * in_stride, static_cast<size_t>(row) * sizeof(T));
}

template <class T> void nearest(const Resize& r, const T* in, int64_t in_stride, T* out, int64_t out_stride,
                                std::byte* scratch) {
  resize_nearest(r, sizeof(T), reinterpret_cast<const std::byte*>(in), in_stride,
                 reinterpret_cast<std::byte*>(out), out_stride, scratch);
}

enum class Form { simd, scalar };

struct Target {
  uint8_t* data;
  int64_t stride;
};

// Rows of one channel, four as the channels of one: the kernel has a lane for each of four channels. Returns
// how many rows it did, a multiple of kWovenRows.
int64_t across_woven(const ByteRows& in, const Resize& r, const Taps<int32_t>& taps, const Memory& m,
                     Target out) {
  const int64_t woven_row =
      4 * in.width + across_read_slack({nullptr, 0, 0, in.width, 0, 4}, taps, r.out_width);
  auto* woven = reinterpret_cast<uint8_t*>(m.woven);
  uint8_t* mixed = woven + kWovenRows / 4 * woven_row;
  const ByteRows four{woven, woven_row, kWovenRows / 4, in.width, 0, 4};
  int64_t y = 0;
  for (; y + kWovenRows <= in.height; y += kWovenRows) {
    for (int64_t i = 0; i < kWovenRows / 4; ++i) {
      const uint8_t* first = in.data + (y + 4 * i) * in.stride;
      const uint8_t* rows[] = {first, first + in.stride, first + 2 * in.stride, first + 3 * in.stride};
      from_planes(rows, in.width, 4, woven + i * woven_row);
    }
    resample_across(four, taps, r.out_width, mixed, 4 * r.out_width, m.across);
    for (int64_t i = 0; i < kWovenRows / 4; ++i)
      to_planes(mixed + i * 4 * r.out_width, r.out_width, 4, out.data + (y + 4 * i) * out.stride, out.stride);
  }
  return y;
}

// Across rows that nothing may be read behind: the last ones are copied to where the kernel may.
void across_image(ByteRows in, const Resize& r, const Taps<int32_t>& taps, const Memory& m, Target out) {
  if (in.channels == 1) {
    const int64_t done = across_woven(in, r, taps, m, out);
    in.data += done * in.stride, in.first_row += done, in.height -= done;
    out.data += done * out.stride;
    if (in.height == 0) return;
  }
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
    const int64_t done = r.channels == 1 ? across_woven(between, r, taps, m, out) : 0;
    ByteRows rest = between;
    rest.data += done * rest.stride, rest.height -= done;
    if (rest.height > 0)
      resample_across(rest, taps, r.out_width, out.data + done * out.stride, out.stride, m.across);
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

// Rows between two passes begin an odd number of cache lines apart: the kernel writes many at a time, and at
// a multiple of 4096 bytes they would all be put to the same place of the cache.
int64_t spread(int64_t row) {
  const int64_t lines = (row * static_cast<int64_t>(sizeof(float)) + 63) / 64;
  return (lines | 1) * 16;
}

struct FloatMemory {
  std::byte *column_taps, *row_taps, *strip;
  float* between;
};

FloatMemory cut_floats(const Resize& r, Pieces& pieces) {
  FloatMemory m;
  m.column_taps = pieces.take(static_cast<int64_t>(taps_bytes(columns(r))));
  m.row_taps = pieces.take(static_cast<int64_t>(taps_bytes(rows(r))));
  m.strip = pieces.take(static_cast<int64_t>(across_strip_bytes(r.in_width, r.channels)));
  const int64_t rows_between = across_first(r) ? r.in_height : r.out_height,
                width_between = across_first(r) ? r.out_width : r.in_width;
  m.between = reinterpret_cast<float*>(pieces.take(4 * rows_between * spread(width_between * r.channels)));
  return m;
}

struct FloatTarget {
  float* data;
  int64_t stride;
};

void across(const Resize& r, const FloatRows& in, const FloatMemory& m, FloatTarget out, Form form) {
  const Taps<float> taps = float_taps(columns(r), m.column_taps);
  if (form == Form::simd)
    resample_across(in, taps, r.out_width, out.data, out.stride, m.strip);
  else
    resample_across_scalar(in, taps, r.out_width, out.data, out.stride);
}

void down(const Resize& r, const FloatRows& in, const Taps<float>& taps, FloatTarget out, Form form) {
  if (form == Form::simd)
    resample_down(in, taps, r.out_height, out.data, out.stride);
  else
    resample_down_scalar(in, taps, r.out_height, out.data, out.stride);
}

// The passes are those of bytes, in the same order.
void filter_f32(const Resize& r, FloatRows image, FloatTarget out, std::byte* scratch, Form form) {
  Pieces pieces(scratch);
  const FloatMemory m = cut_floats(r, pieces);
  const int64_t in_row = r.in_width * r.channels, out_row = spread(r.out_width * r.channels);
  if (r.in_height == r.out_height && r.in_width == r.out_width)
    return copy_rows(image.data, image.stride, out.data, out.stride, r.in_height, in_row);
  if (r.in_height == r.out_height) return across(r, image, m, out, form);
  const Taps<float> taps = float_taps(rows(r), m.row_taps);
  if (r.in_width == r.out_width) return down(r, image, taps, out, form);
  if (across_first(r)) {
    const int64_t last = r.out_height - 1;  // only rows that the second pass looks at go through the first
    image.first_row = taps.first[0];
    image.data += image.first_row * image.stride;
    image.height = taps.first[last] + taps.count[last] - image.first_row;
    across(r, image, m, {m.between, out_row}, form);
    down(r, {m.between, out_row, image.height, r.out_width, image.first_row, r.channels}, taps, out, form);
  } else {
    down(r, image, taps, {m.between, spread(in_row)}, form);
    across(r, {m.between, spread(in_row), r.out_height, r.in_width, 0, r.channels}, m, out, form);
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
    Pieces of_floats(nullptr);
    cut(r, pieces), cut_floats(r, of_floats);
    return std::max(pieces.used(), of_floats.used());
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
  filter_f32(r, {in, in_stride, r.in_height, r.in_width, 0, r.channels}, {out, out_stride}, scratch,
             Form::simd);
}

void resize_f32_scalar(const Resize& r, const float* in, int64_t in_stride, float* out, int64_t out_stride,
                       std::byte* scratch) {
  if (r.interpolation == Interpolation::nearest) return nearest(r, in, in_stride, out, out_stride, scratch);
  filter_f32(r, {in, in_stride, r.in_height, r.in_width, 0, r.channels}, {out, out_stride}, scratch,
             Form::scalar);
}

}  // namespace headrace::kernels
