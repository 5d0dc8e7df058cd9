// A picture that is resampled while its image is decoded: strips of planes go in, rows of pixels come out.
// For planes.cc.
#pragma once
#include <algorithm>

#include "headrace/codecs/jpeg/baseline_header.h"
#include "headrace/codecs/resampled.h"
#include "headrace/core/saturate.h"
#include "headrace/kernels/resample_planes.h"

namespace headrace::jpeg {

inline constexpr int kSide = 8;  // of a block

// The form of the planes when they are resampled.
enum class Form : uint8_t {
  gray,    // luma alone
  rgb,     // converted from planes of equal resolution
  coarse,  // luma, and chroma at another resolution
};
constexpr int planes_of(Form form) { return form == Form::gray ? 1 : 3; }
constexpr int strips_of(Form form) { return form == Form::coarse ? 2 : planes_of(form); }

struct Range {
  int64_t begin = 0, end = 0;
  bool is_empty() const { return begin >= end; }
  Range around(Range other) const {
    if (is_empty()) return other;
    return {std::min(begin, other.begin), std::max(end, other.end)};
  }
};

// The samples that the taps read.
inline Range reach(const kernels::PlaneAxis& axis, const kernels::PlaneTaps& taps) {
  const auto [least, most] = std::minmax_element(taps.first, taps.first + taps.count);
  return {*least, std::min<int64_t>(*most + taps.window, axis.high)};
}

// `size` samples of luma from `begin` on, where a sample of the plane covers `factor` of them; the plane has
// `samples`.
inline kernels::PlaneAxis axis_of(int64_t begin, int64_t size, int factor, int64_t samples) {
  kernels::PlaneAxis axis;
  axis.begin = static_cast<double>(begin) / factor;
  axis.size = static_cast<double>(size) / factor;
  axis.low = begin / factor;
  axis.high = std::min((begin + size + factor - 1) / factor, samples);
  return axis;
}

// Scratch that remembers the size it refused.
class Memory {
 public:
  explicit Memory(Scratch& scratch) : scratch_(scratch) {}
  template <class T> std::span<T> take(size_t count) {
    const auto taken = scratch_.take<T>(count);
    if (taken.empty()) refused_ = saturating_mul(count, sizeof(T));
    return taken;
  }
  Status over_budget() const { return scratch_.over_budget(refused_, "strips and rows of an image"); }

 private:
  Scratch& scratch_;
  size_t refused_ = 0;
};

// The rows of one plane that are resampled across and wait to be mixed.
class Ring {
 public:
  bool take(int64_t rows, int64_t width, Memory& memory) {
    rows_ = rows, stride_ = kernels::padded(width);
    const auto room =
        memory.take<int16_t>(saturating_mul(static_cast<size_t>(rows), static_cast<size_t>(stride_)));
    data_ = room.data();
    return !room.empty();
  }
  int16_t* row(int64_t y) const { return data_ + y % rows_ * stride_; }
  // Calls f with row y and those after it, `count` in all; `end` - 1 replaces those from `end` on. Dividing
  // once instead of for each of them saves 0.5 % of a picture's time.
  template <class F> void for_rows(int64_t y, int64_t count, int64_t end, F&& f) const {
    const int16_t *row = this->row(std::min(y, end - 1)), *const behind = data_ + rows_ * stride_;
    for (int64_t k = 0; k < count; ++k) {
      f(k, row);
      if (y + k + 1 < end && (row += stride_) == behind) row = data_;
    }
  }

 private:
  int16_t* data_ = nullptr;
  int64_t rows_ = 0, stride_ = 0;
};

// A plane of luma, or the two of chroma, on the way to one picture.
struct Path {
  kernels::PlaneTaps across, down;
  Range columns, rows;  // of samples that are read
  int64_t fed = 0;      // rows before this are in the ring

  bool make(const kernels::PlaneAxis& x, const kernels::PlaneAxis& y, Memory& memory) {
    return make(x, across, columns, memory) && make(y, down, rows, memory);
  }
  // Whether the rows for output row `y` are there.
  bool is_ready(int64_t y) const { return std::min<int64_t>(down.first[y] + down.window, rows.end) <= fed; }
  // More than a window and what the strips of two rows of MCUs bring: planes do not wait for each other
  // longer than that.
  int64_t ring_rows(const Scan& scan) const {
    return down.window + (scan.v_most > 2 ? 8 : 4) * kernels::kStripRows;
  }

  // The rows of `ring` that make output row `y`; rows beyond the last have weight zero.
  kernels::MixedRow mixed(const Ring& ring, int64_t y, const int16_t** pointers) const {
    ring.for_rows(down.first[y], down.window, rows.end,
                  [&](int64_t k, const int16_t* row) { pointers[k] = row; });
    return {pointers, down.weights_of(y), down.window, down.is_long};
  }

 private:
  static bool make(const kernels::PlaneAxis& axis, kernels::PlaneTaps& taps, Range& range, Memory& memory) {
    const auto room = memory.take<std::byte>(kernels::plane_taps_bytes(axis));
    if (room.empty()) return false;
    taps = kernels::plane_taps(axis, room.data());
    range = reach(axis, taps);
    return true;
  }
};

// One picture in progress.
class Picture {
 public:
  // `side` samples of a block. False without memory.
  bool make(const Scan& scan, int side, Form form, const Resampled& wanted, RowSink& sink, Memory& memory) {
    wanted_ = &wanted, sink_ = &sink, side_ = side, form_ = form;
    if (!make_path(scan, 0, fine_, memory)) return false;
    if (form == Form::coarse && !make_path(scan, 1, coarse_, memory)) return false;
    const int64_t width = wanted.window.w;
    for (int p = 0; p < planes_of(form); ++p)
      if (!ring_[p].take(path_of(p).ring_rows(scan), width, memory)) return false;
    window_ = std::max(fine_.down.window, coarse_.down.window);
    const auto pointers = memory.take<const int16_t*>(static_cast<size_t>(3 * window_));
    const auto pixels = memory.take<uint8_t>(static_cast<size_t>(planes_of(form) * kernels::padded(width)));
    if (pointers.empty() || pixels.empty()) return false;
    pointers_ = pointers.data();
    for (int c = 0; c < 3; ++c)
      pixels_[c] = pixels.data() + (form == Form::gray ? 0 : c) * kernels::padded(width);
    return true;
  }

  const Path& fine() const { return fine_; }
  const Path& coarse() const { return coarse_; }

  // A strip of `plane`, of which `count` rows from row `y` of the image on are there.
  void feed(int plane, const int16_t* strip, int64_t origin, int64_t y, int64_t count) {
    const bool rounded = form_ != Form::coarse;
    feed(fine_, strip, origin, y, count, rounded, [&](int r) { return ring_[plane].row(y + r); });
  }
  // A strip of eight rows of Cb and eight of Cr.
  void feed_chroma(const int16_t* strip, int64_t origin, int64_t y, int64_t count) {
    feed(coarse_, strip, origin, y, count, false,
         [&](int r) { return ring_[r < kSide ? 1 : 2].row(y + r % kSide); });
  }

  // Passes on the rows that are complete.
  void emit() {
    for (; next_ < wanted_->window.h && fine_.is_ready(next_) &&
           (form_ != Form::coarse || coarse_.is_ready(next_));
         ++next_) {
      const auto mixed = [&](int p) { return path_of(p).mixed(ring_[p], next_, pointers_ + p * window_); };
      if (form_ == Form::coarse)
        kernels::mix_to_rgb(mixed(0), mixed(1), mixed(2), wanted_->window.w, pixels_);
      else
        for (int p = 0; p < planes_of(form_); ++p)
          kernels::mix_to_bytes(mixed(p), wanted_->window.w, pixels_[p]);
      sink_->take(next_, pixels_);
    }
  }

 private:
  const Path& path_of(int plane) const { return plane > 0 && form_ == Form::coarse ? coarse_ : fine_; }

  bool make_path(const Scan& scan, int component, Path& path, Memory& memory) const {
    const int reduction = kSide / side_;
    const int h = scan.across_of(component), v = scan.down_of(component);
    const auto samples = [&](int64_t whole) { return (whole + reduction - 1) / reduction; };
    kernels::PlaneAxis x =
        axis_of(wanted_->from.x, wanted_->from.w, h * reduction, samples(scan.width_of(component)));
    kernels::PlaneAxis y =
        axis_of(wanted_->from.y, wanted_->from.h, v * reduction, samples(scan.height_of(component)));
    x.grid = wanted_->width, x.first = wanted_->window.x, x.count = wanted_->window.w;
    y.grid = wanted_->height, y.first = wanted_->window.y, y.count = wanted_->window.h;
    x.reversed = wanted_->mirrored;
    x.interpolation = y.interpolation = wanted_->interpolation;
    x.antialias = y.antialias = wanted_->antialias;
    return path.make(x, y, memory);
  }

  template <class RowOf> static void feed(Path& path, const int16_t* strip, int64_t origin, int64_t y,
                                          int64_t count, bool rounded, RowOf&& row_of) {
    if (y + count <= path.rows.begin || y >= path.rows.end) return;
    int16_t* rows[kernels::kStripRows];
    for (int r = 0; r < kernels::kStripRows; ++r) rows[r] = row_of(r);
    kernels::resample_strip(strip, origin, path.across, rounded, rows);
    path.fed = y + count;
  }

  const Resampled* wanted_ = nullptr;
  RowSink* sink_ = nullptr;
  int side_ = kSide;
  Form form_ = Form::gray;
  Path fine_, coarse_;
  Ring ring_[3];
  const int16_t** pointers_ = nullptr;
  int64_t window_ = 0, next_ = 0;
  uint8_t* pixels_[3] = {};
};

}  // namespace headrace::jpeg
