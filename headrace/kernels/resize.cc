#include "headrace/kernels/resize.h"

#include <algorithm>
#include <concepts>
#include <cstring>

#include "headrace/kernels/planes.h"
#include "headrace/kernels/resample_floats.h"
#include "headrace/kernels/resample_pairs.h"
#include "headrace/kernels/resample_rows.h"

namespace headrace::kernels {
namespace {

// Divides the caller's scratch into pieces, or, without memory, counts how much they need.
class Pieces {
 public:
  explicit Pieces(std::byte* memory) : memory_(memory) {}
  std::byte* take(std::integral auto bytes) {
    const auto size = static_cast<int64_t>(bytes);
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

// The most rows that go across together: transposed floats and interleaved bytes need that many.
constexpr int64_t kMostRows = 16, kFewRows = 4;

int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }

// Between the passes there are never more rows than a window and a group, so they stay in the cache: a ring
// of rows that went across, or a group of rows that went down.
int64_t rows_between(const Resize& r, int64_t group) {
  return across_first(r) ? round_up(longest_window(rows(r)) + group - 1, group) : group;
}
int64_t row_between(const Resize& r) { return (across_first(r) ? r.out_width : r.in_width) * r.channels; }

template <class T> struct Target {
  T* data;
  int64_t stride;
};

template <class T> void copy_rows(const T* const* rows, int64_t count, int64_t size, Target<T> out) {
  for (int64_t y = 0; y < count; ++y)
    std::memcpy(out.data + y * out.stride, rows[y], static_cast<size_t>(size) * sizeof(T));
}

// The two passes over bytes.
class BytePasses {
 public:
  using Number = uint8_t;
  // Takes the memory it needs; without memory only the size is valid.
  BytePasses(const Resize& r, Pieces& pieces)
      : r_(r),
        window_(longest_window(columns(r))),
        row_taps_(pieces.take(taps_bytes(rows(r)))),
        column_taps_(pieces.take(taps_bytes(columns(r)))),
        plan_(pieces.take(std::max(across_plan_bytes(r.out_width, window_), pair_plan_bytes(r.out_width)))),
        words_(reinterpret_cast<int32_t*>(pieces.take((longest_window(rows(r)) + 1) * 4))),
        tail_(pieces.take(std::min(r.in_height, slack() / in_row() + 1) * (in_row() + slack()))),
        woven_(pieces.take(
            r.channels == 1 ? kMostRows * (r.in_width + window_ + 4) + (kMostRows + 4) * r.out_width : 0)) {}

  void plan() {
    if (r_.in_height != r_.out_height) {
      down_ = fixed_taps(rows(r_), row_taps_);
      down_pairs_ = are_pairs(down_, r_.out_height);
    }
    if (r_.in_width == r_.out_width) return;
    const Taps<int32_t> taps = fixed_taps(columns(r_), column_taps_);
    across_pairs_ = in_row() >= kLeastPairRow && are_pairs(taps, r_.out_width);
    if (across_pairs_) {
      pairs_ = plan_pairs(taps, r_.in_width, r_.out_width, r_.channels, plan_);
      return;
    }
    if (r_.channels > 1) read_slack_ = across_read_slack(taps, r_.in_width, r_.out_width, r_.channels);
    across_ = plan_across(taps, r_.out_width, lanes(), plan_);
  }

  const Taps<int32_t>& down_taps() const { return down_; }
  int64_t group() const { return !across_pairs_ && r_.channels == 1 ? kMostRows : kFewRows; }
  static int64_t stride_between(int64_t row) { return row; }
  // Bytes after the last row between the passes that may be read.
  int64_t slack() const { return window_ * r_.channels + 16; }

  // Replaces rows of the image after which nothing may be read by copies. They are the last of `rows`.
  void guard(const uint8_t** rows, int64_t count, const uint8_t* image_end) const {
    auto* copy = reinterpret_cast<uint8_t*>(tail_);
    for (int64_t y = count; y-- > 0 && image_end - (rows[y] + in_row()) < read_slack_;) {
      std::memcpy(copy, rows[y], static_cast<size_t>(in_row()));
      rows[y] = copy;
      copy += in_row() + slack();
    }
  }

  void across(const uint8_t* const* rows, int64_t count, Target<uint8_t> out) const {
    if (across_pairs_)
      pairs_across(pairs_, rows, count, out.data, out.stride);
    else if (r_.channels == 1)
      across_woven(rows, count, out);
    else
      resample_across(across_, rows, count, out.data, out.stride);
  }

  // `rows` has room for one more than the window.
  void down(const uint8_t** rows, int64_t y, int64_t size, uint8_t* out) const {
    const int32_t* weights = down_.weights + y * down_.stride;
    if (down_pairs_)
      pairs_down(rows[0], rows[down_.count[y] - 1], weights[0], out, size);
    else
      resample_down(rows, weights, down_.count[y], out, size, words_);
  }

 private:
  int64_t in_row() const { return r_.in_width * r_.channels; }
  int lanes() const { return r_.channels == 1 ? 4 : r_.channels; }

  // Rows of one channel, four as the channels of one: the kernel has a lane for each of four channels.
  void across_woven(const uint8_t* const* rows, int64_t count, Target<uint8_t> out) const {
    const int64_t woven_row = 4 * (r_.in_width + window_ + 4), mixed_row = 4 * r_.out_width;
    auto* woven = reinterpret_cast<uint8_t*>(woven_);
    uint8_t* mixed = woven + kMostRows / 4 * woven_row;
    const uint8_t* woven_rows[kMostRows / 4];
    for (int64_t y = 0; y < count; y += 4) {  // past the last row it is taken again
      const auto row = [&](int64_t i) { return rows[std::min(y + i, count - 1)]; };
      const uint8_t* four[] = {row(0), row(1), row(2), row(3)};
      from_planes(four, r_.in_width, 4, woven + y / 4 * woven_row);
      woven_rows[y / 4] = woven + y / 4 * woven_row;
    }
    resample_across(across_, woven_rows, (count + 3) / 4, mixed, mixed_row);
    int64_t y = 0;
    for (; y + 4 <= count; y += 4)
      to_planes(mixed + y / 4 * mixed_row, r_.out_width, 4, out.data + y * out.stride, out.stride);
    if (y == count) return;
    uint8_t* spare = mixed + kMostRows / 4 * mixed_row;
    to_planes(mixed + y / 4 * mixed_row, r_.out_width, 4, spare, r_.out_width);
    for (int64_t i = 0; y + i < count; ++i)
      std::memcpy(out.data + (y + i) * out.stride, spare + i * r_.out_width,
                  static_cast<size_t>(r_.out_width));
  }

  const Resize& r_;
  int64_t window_;
  std::byte *row_taps_, *column_taps_, *plan_;
  int32_t* words_;
  std::byte *tail_, *woven_;
  Taps<int32_t> down_;
  PairPlan pairs_;
  AcrossPlan across_;
  bool across_pairs_ = false, down_pairs_ = false;
  int64_t read_slack_ = 0;
};

// The two passes over floats.
class FloatPasses {
 public:
  using Number = float;
  FloatPasses(const Resize& r, Pieces& pieces)
      : r_(r),
        row_taps_(pieces.take(taps_bytes(rows(r)))),
        column_taps_(pieces.take(taps_bytes(columns(r)))),
        plan_(pieces.take(float_plan_bytes(r.in_width, r.out_width, r.channels))) {}

  void plan() {
    if (r_.in_height != r_.out_height) down_ = float_taps(rows(r_), row_taps_);
    if (r_.in_width != r_.out_width)
      across_ =
          plan_floats(float_taps(columns(r_), column_taps_), r_.in_width, r_.out_width, r_.channels, plan_);
  }

  const Taps<float>& down_taps() const { return down_; }
  int64_t group() const { return across_.form == FloatPlan::Form::turned ? kMostRows : kFewRows; }
  // Rows begin an odd number of cache lines apart: the kernel writes many at a time, and at a multiple of
  // 4096 bytes they would all map to the same set of the cache.
  static int64_t stride_between(int64_t row) { return ((row + 15) / 16 | 1) * 16; }
  static int64_t slack() { return 0; }
  void guard(const float**, int64_t, const float*) const {}
  void across(const float* const* rows, int64_t count, Target<float> out) const {
    resample_across(across_, rows, count, out.data, out.stride);
  }
  void down(const float** rows, int64_t y, int64_t size, float* out) const {
    resample_down(rows, down_.weights + y * down_.stride, down_.count[y], out, size);
  }

 private:
  const Resize& r_;
  std::byte *row_taps_, *column_taps_, *plan_;
  Taps<float> down_;
  FloatPlan across_;
};

// Both passes over an image, a group of rows at a time.
template <class Passes> class Filter {
 public:
  using T = typename Passes::Number;
  Filter(const Resize& r, Pieces& pieces)
      : r_(r),
        passes_(r, pieces),
        rows_(reinterpret_cast<const T**>(pieces.take(r.in_height * kPointer))),
        places_(reinterpret_cast<int32_t*>(pieces.take(r.out_height * 4))),
        window_(reinterpret_cast<const T**>(pieces.take((longest_window(rows(r)) + 1) * kPointer))),
        between_(reinterpret_cast<T*>(pieces.take((rows_between(r, kMostRows) * stride() + passes_.slack()) *
                                                  static_cast<int64_t>(sizeof(T))))) {}

  void run(const T* in, int64_t in_stride, Target<T> out) {
    passes_.plan();
    const bool goes_across = r_.in_width != r_.out_width, goes_down = r_.in_height != r_.out_height;
    if (goes_down && goes_across && !across_first(r_)) return down_then_across(in, in_stride, out);
    const int64_t count = list_rows(in, in_stride, goes_down);
    if (goes_across)
      passes_.guard(rows_, count, in + (r_.in_height - 1) * in_stride + r_.in_width * r_.channels);
    if (goes_down)
      down(count, goes_across, out);
    else if (goes_across)
      across(count, out);
    else
      copy_rows(rows_, count, r_.in_width * r_.channels, out);
  }

 private:
  static constexpr int64_t kPointer = sizeof(void*);
  int64_t out_row() const { return r_.out_width * r_.channels; }
  int64_t stride() const { return Passes::stride_between(row_between(r_)); }

  // The rows that some window reads, and where in their list the window of each output row begins.
  int64_t list_rows(const T* in, int64_t in_stride, bool goes_down) {
    int64_t count = 0, next = 0;
    const auto list = [&](int64_t begin, int64_t end) {
      for (next = std::max(next, begin); next < end; ++next) rows_[count++] = in + next * in_stride;
    };
    if (!goes_down) list(0, r_.in_height);
    const auto& taps = passes_.down_taps();
    for (int64_t y = 0; goes_down && y < r_.out_height; ++y) {
      list(taps.first[y], taps.first[y] + taps.count[y]);
      places_[y] = static_cast<int32_t>(count - taps.count[y]);
    }
    return count;
  }

  void across(int64_t count, Target<T> out) {
    const int64_t group = passes_.group();
    for (int64_t y = 0; y < count; y += group)
      passes_.across(rows_ + y, std::min(group, count - y), {out.data + y * out.stride, out.stride});
  }

  // Down the listed rows, or down their results of the pass across.
  void down(int64_t count, bool goes_across, Target<T> out) {
    const int64_t group = passes_.group(), ring = rows_between(r_, group);
    int64_t done = 0;
    for (int64_t y = 0; y < r_.out_height; ++y) {
      const int64_t first = places_[y], size = passes_.down_taps().count[y];
      for (; goes_across && done < first + size; done += group)
        passes_.across(rows_ + done, std::min(group, count - done),
                       {between_ + done % ring * stride(), stride()});
      for (int64_t k = 0; k < size; ++k)
        window_[k] = goes_across ? between_ + (first + k) % ring * stride() : rows_[first + k];
      passes_.down(window_, y, out_row(), out.data + y * out.stride);
    }
  }

  void down_then_across(const T* in, int64_t in_stride, Target<T> out) {
    const auto& taps = passes_.down_taps();
    const int64_t group = passes_.group();
    for (int64_t y = 0; y < r_.out_height; y += group) {
      const int64_t count = std::min(group, r_.out_height - y);
      for (int64_t i = 0; i < count; ++i) {
        for (int32_t k = 0; k < taps.count[y + i]; ++k) window_[k] = in + (taps.first[y + i] + k) * in_stride;
        T* row = between_ + i * stride();
        passes_.down(window_, y + i, r_.in_width * r_.channels, row);
        rows_[i] = row;
      }
      passes_.across(rows_, count, {out.data + y * out.stride, out.stride});
    }
  }

  const Resize& r_;
  Passes passes_;
  const T** rows_;
  int32_t* places_;
  const T** window_;
  T* between_;
};

template <class Passes> size_t scratch_bytes(const Resize& r) {
  Pieces pieces(nullptr);
  const Filter<Passes> filter(r, pieces);
  return pieces.used();
}

template <class Passes, class T> void resize_with(const Resize& r, const T* in, int64_t in_stride, T* out,
                                                  int64_t out_stride, std::byte* scratch) {
  if (r.interpolation == Interpolation::nearest)
    return resize_nearest(r, sizeof(T), reinterpret_cast<const std::byte*>(in), in_stride,
                          reinterpret_cast<std::byte*>(out), out_stride, scratch);
  Pieces pieces(scratch);
  Filter<Passes>(r, pieces).run(in, in_stride, {out, out_stride});
}

}  // namespace

bool across_first(const Resize& r) {
  if (r.in_width == r.out_width) return true;  // there is one pass, or none
  return r.out_height >= r.in_height || r.in_height - r.out_height <= 2 * (r.in_width - r.out_width);
}

size_t resize_scratch_bytes(const Resize& r) {
  if (r.interpolation == Interpolation::nearest) return nearest_scratch_bytes(r);
  return std::max(scratch_bytes<BytePasses>(r), scratch_bytes<FloatPasses>(r));
}

size_t resize_u16_scratch_bytes(const Resize& r) {
  Pieces pieces(nullptr);
  pieces.take(r.in_height * r.in_width * r.channels * 4);
  pieces.take(r.out_height * r.out_width * r.channels * 4);
  return pieces.used() + scratch_bytes<FloatPasses>(r);
}

void resize_u16(const Resize& r, const uint16_t* in, int64_t in_stride, uint16_t* out, int64_t out_stride,
                std::byte* scratch) {
  Pieces pieces(scratch);
  const int64_t in_row = r.in_width * r.channels, out_row = r.out_width * r.channels;
  auto* const wide = reinterpret_cast<float*>(pieces.take(r.in_height * in_row * 4));
  auto* const made = reinterpret_cast<float*>(pieces.take(r.out_height * out_row * 4));
  for (int64_t y = 0; y < r.in_height; ++y) std::copy_n(in + y * in_stride, in_row, wide + y * in_row);
  resize_with<FloatPasses>(r, wide, in_row, made, out_row, scratch + pieces.used());
  for (int64_t y = 0; y < r.out_height; ++y)
    std::transform(made + y * out_row, made + (y + 1) * out_row, out + y * out_stride, [](float value) {
      return static_cast<uint16_t>(std::clamp(value, 0.0f, 65535.0f) + 0.5f);
    });
}

void resize_u8(const Resize& r, const uint8_t* in, int64_t in_stride, uint8_t* out, int64_t out_stride,
               std::byte* scratch) {
  resize_with<BytePasses>(r, in, in_stride, out, out_stride, scratch);
}

void resize_f32(const Resize& r, const float* in, int64_t in_stride, float* out, int64_t out_stride,
                std::byte* scratch) {
  resize_with<FloatPasses>(r, in, in_stride, out, out_stride, scratch);
}

}  // namespace headrace::kernels
