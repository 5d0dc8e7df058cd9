// resize_nearest: whole pixels are copied, whatever they hold.
#include <algorithm>
#include <cstring>

#include "headrace/kernels/resize.h"
#include "headrace/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "headrace/kernels/nearest.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#ifndef HEADRACE_KERNELS_NEAREST_ONCE
#define HEADRACE_KERNELS_NEAREST_ONCE
namespace headrace::kernels {
namespace {

// The output pixels that are found in 16 bytes of input.
struct alignas(16) Picked {
  uint8_t bytes[16];  // which of the 16
  int32_t from, to;   // in bytes from the start of the row
};

}  // namespace
}  // namespace headrace::kernels
#endif

// The SIMD forms return false where they do nothing.
HWY_BEFORE_NAMESPACE();
namespace headrace::kernels {
namespace HWY_NAMESPACE {
#if HEADRACE_NO_SIMD

bool pick(const std::byte*, const Picked*, int64_t, std::byte*) { return false; }
int64_t gather_words(const std::byte*, const int32_t*, int64_t, std::byte*) { return 0; }

#else
namespace hn = hwy::HWY_NAMESPACE;

// Stores 16 bytes; excess bytes are overwritten by the next store.
bool pick(const std::byte* in, const Picked* picked, int64_t count, std::byte* out) {
  const hn::CappedTag<uint8_t, 16> d;
  const auto* from = reinterpret_cast<const uint8_t*>(in);
  auto* to = reinterpret_cast<uint8_t*>(out);
  for (int64_t i = 0; i < count; ++i) {
    const auto bytes = hn::LoadU(d, from + picked[i].from);
    hn::StoreU(hn::TableLookupBytes(bytes, hn::Load(d, picked[i].bytes)), d, to + picked[i].to);
  }
  return true;
}

// Pixels of four bytes; returns how many were copied.
int64_t gather_words(const std::byte* in, const int32_t* offsets, int64_t width, std::byte* out) {
  const hn::ScalableTag<int32_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto* from = reinterpret_cast<const int32_t*>(in);
  int64_t x = 0;
  for (; x + lanes <= width; x += lanes)
    hn::StoreU(hn::GatherOffset(d, from, hn::LoadU(d, offsets + x)), d, reinterpret_cast<int32_t*>(out) + x);
  return x;
}

#endif
}  // namespace HWY_NAMESPACE
}  // namespace headrace::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace headrace::kernels {
namespace {

HWY_EXPORT(pick);
HWY_EXPORT(gather_words);

// Which input pixel an output pixel is. Positions are accumulated as in Pillow, rounding errors included.
class Positions {
 public:
  Positions(int64_t in_side, int64_t out_side)
      : step_(static_cast<double>(in_side) / static_cast<double>(out_side)),
        at_(step_ * 0.5),
        last_(in_side - 1) {}
  int64_t next() {
    const int64_t position = std::min(static_cast<int64_t>(at_), last_);
    at_ += step_;
    return position;
  }

 private:
  double step_, at_;
  int64_t last_;
};

// Where the pixels of a row are.
struct Columns {
  const int32_t* offsets = nullptr;  // in bytes
  int64_t width = 0;
  size_t size = 0;  // of a pixel, in bytes
  const Picked* picked = nullptr;
  int64_t picks = 0, done_by_picks = 0;
};

template <size_t kSize> void copy_pixels(const std::byte* in, const Columns& c, int64_t x, std::byte* out) {
  for (; x < c.width; ++x) std::memcpy(out + static_cast<size_t>(x) * kSize, in + c.offsets[x], kSize);
}

void copy_pixels_of_any(const std::byte* in, const Columns& c, int64_t x, std::byte* out) {
  for (; x < c.width; ++x) std::memcpy(out + static_cast<size_t>(x) * c.size, in + c.offsets[x], c.size);
}

// Copies more bytes than a pixel has at once: the next pixel overwrites the excess.
template <size_t kSize, size_t kCopied>
void copy_more(const std::byte* in, const Columns& c, int64_t x, std::byte* out) {
  const int32_t end = c.offsets[c.width - 1];  // beyond the last pixel nothing may be read
  for (; x + 1 < c.width && c.offsets[x] < end; ++x)
    std::memcpy(out + static_cast<size_t>(x) * kSize, in + c.offsets[x], kCopied);
  copy_pixels<kSize>(in, c, x, out);
}

void copy_row(const std::byte* in, const Columns& c, std::byte* out) {
  int64_t x = 0;
  if (c.picks > 0 && HWY_DYNAMIC_DISPATCH(pick)(in, c.picked, c.picks, out)) x = c.done_by_picks;
  switch (c.size) {
    case 1: return copy_pixels<1>(in, c, x, out);
    case 2: return copy_pixels<2>(in, c, x, out);
    case 3: return copy_more<3, 4>(in, c, x, out);
    case 4:
      return copy_pixels<4>(in, c, HWY_DYNAMIC_DISPATCH(gather_words)(in, c.offsets, c.width, out), out);
    case 8: return copy_pixels<8>(in, c, x, out);
    case 12: return copy_pixels<12>(in, c, x, out);
    case 16: return copy_pixels<16>(in, c, x, out);
    default: return copy_pixels_of_any(in, c, x, out);
  }
}

// Small pixels, as long as 16 bytes may be read and written; not where picks would hold hardly more than one.
void plan_picks(Columns& c, int64_t in_row, Picked* picked) {
  const auto size = static_cast<int64_t>(c.size);
  if (size > 3 || in_row < 16) return;
  int64_t x = 0;
  for (; x * size + 16 <= c.width * size; ++c.picks) {
    Picked& pick = picked[c.picks];
    pick.from = static_cast<int32_t>(std::min<int64_t>(c.offsets[x], in_row - 16));
    pick.to = static_cast<int32_t>(x * size);
    int64_t at = 0;
    for (; at + size <= 16 && c.offsets[x] + size - pick.from <= 16; ++x)
      for (int64_t i = 0; i < size; ++i)
        pick.bytes[at++] = static_cast<uint8_t>(c.offsets[x] + i - pick.from);
    std::fill(pick.bytes + at, pick.bytes + 16, uint8_t{0});
  }
  c.picked = picked, c.done_by_picks = x;
  if (3 * c.picks > 2 * x) c.picks = 0;
}

}  // namespace

size_t nearest_scratch_bytes(const Resize& r) {
  return static_cast<size_t>(r.out_width) * (sizeof(Picked) + sizeof(int32_t));
}

void resize_nearest(const Resize& r, size_t element_size, const std::byte* in, int64_t in_stride,
                    std::byte* out, int64_t out_stride, std::byte* scratch) {
  const size_t size = element_size * static_cast<size_t>(r.channels);
  auto* picked = reinterpret_cast<Picked*>(scratch);
  auto* offsets = reinterpret_cast<int32_t*>(picked + r.out_width);
  Positions columns(r.in_width, r.out_width), rows(r.in_height, r.out_height);
  for (int64_t x = 0; x < r.out_width; ++x)
    offsets[x] = static_cast<int32_t>(columns.next() * static_cast<int64_t>(size));
  Columns of_row{offsets, r.out_width, size};
  plan_picks(of_row, r.in_width * static_cast<int64_t>(size), picked);
  const int64_t in_bytes = in_stride * static_cast<int64_t>(element_size),
                out_bytes = out_stride * static_cast<int64_t>(element_size);
  int64_t last = -1;
  for (int64_t y = 0; y < r.out_height; ++y, out += out_bytes) {
    const int64_t row = rows.next();
    if (row == last)
      std::memcpy(out, out - out_bytes, static_cast<size_t>(r.out_width) * size);
    else
      copy_row(in + row * in_bytes, of_row, out);
    last = row;
  }
}

}  // namespace headrace::kernels
#endif
