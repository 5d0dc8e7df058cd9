// resize_nearest: whole pixels are copied, whatever they hold.
#include <algorithm>
#include <cstring>

#include "headrace/kernels/resize.h"

namespace headrace::kernels {
namespace {

// Which input pixel an output pixel is. Positions are summed up as Pillow does, rounding errors included.
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

// `offsets` are in bytes.
template <size_t kSize>
void gather_row(const std::byte* in, const int64_t* offsets, int64_t width, size_t, std::byte* out) {
  for (int64_t x = 0; x < width; ++x, out += kSize) std::memcpy(out, in + offsets[x], kSize);
}

void gather_row_of_any(const std::byte* in, const int64_t* offsets, int64_t width, size_t size,
                       std::byte* out) {
  for (int64_t x = 0; x < width; ++x, out += size) std::memcpy(out, in + offsets[x], size);
}

// Four bytes at a time, of which the next pixel replaces the last.
void gather_row_of_three(const std::byte* in, const int64_t* offsets, int64_t width, size_t, std::byte* out) {
  const int64_t end = offsets[width - 1];  // beyond the last pixel nothing may be read
  int64_t x = 0;
  for (; x + 1 < width && offsets[x] < end; ++x, out += 3) std::memcpy(out, in + offsets[x], 4);
  for (; x < width; ++x, out += 3) std::memcpy(out, in + offsets[x], 3);
}

auto gather_for(size_t size) {
  switch (size) {
    case 1: return gather_row<1>;
    case 2: return gather_row<2>;
    case 3: return gather_row_of_three;
    case 4: return gather_row<4>;
    case 8: return gather_row<8>;
    case 12: return gather_row<12>;
    case 16: return gather_row<16>;
    default: return gather_row_of_any;
  }
}

}  // namespace

void resize_nearest(const Resize& r, size_t element_size, const std::byte* in, int64_t in_stride,
                    std::byte* out, int64_t out_stride, std::byte* scratch) {
  const size_t size = element_size * static_cast<size_t>(r.channels);
  const auto gather = gather_for(size);
  auto* offsets = reinterpret_cast<int64_t*>(scratch);
  Positions columns(r.in_width, r.out_width), rows(r.in_height, r.out_height);
  for (int64_t x = 0; x < r.out_width; ++x) offsets[x] = columns.next() * static_cast<int64_t>(size);
  const int64_t in_bytes = in_stride * static_cast<int64_t>(element_size),
                out_bytes = out_stride * static_cast<int64_t>(element_size);
  int64_t last = -1;
  for (int64_t y = 0; y < r.out_height; ++y, out += out_bytes) {
    const int64_t row = rows.next();
    if (row == last)
      std::memcpy(out, out - out_bytes, static_cast<size_t>(r.out_width) * size);
    else
      gather(in + row * in_bytes, offsets, r.out_width, size, out);
    last = row;
  }
}

}  // namespace headrace::kernels
