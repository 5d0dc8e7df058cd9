// Resizes images in memory: u8 exactly as Pillow does (fixed point, two passes, 8 bits in between), f32 with
// the same filter, u16 as f32, rounded at the end.
//
// For the operators that change the size of an image, and for code that fuses them. The input may be a region
// of a larger image: only pixels of the region are used. Free functions, any thread. Cost: a 300 x 280 RGB
// region to 224 x 224 takes some tens of microseconds (bench/micro/resize.cc).
#pragma once
#include <cstddef>
#include <cstdint>

#include "headrace/kernels/taps.h"

namespace headrace::kernels {

struct Resize {
  int64_t in_height = 1, in_width = 1, out_height = 1, out_width = 1;  // each 1 .. kMaxSide
  int channels = 3;                                                    // 1 .. 4
  Interpolation interpolation = Interpolation::bilinear;
  bool antialias = true;  // ignored for nearest
};

// Which pass comes first: across (columns) or down (rows). It matters, because the values between them are
// rounded, to 8 bits or to f32. The rule is that of Pillow 13; Pillow 12 and older go across first unless the
// image is very tall.
bool across_first(const Resize& resize);

size_t resize_scratch_bytes(
    const Resize& resize);  // for all of the functions below; its pointer is aligned to 64 bytes

// `in_stride` and `out_stride` count elements from one row to the next, and are at least width * channels.
// `in` and `out` do not overlap. The gap between two rows of `in` may be read, but nothing after the last
// row.
void resize_u8(const Resize& resize, const uint8_t* in, int64_t in_stride, uint8_t* out, int64_t out_stride,
               std::byte* scratch);
void resize_f32(const Resize& resize, const float* in, int64_t in_stride, float* out, int64_t out_stride,
                std::byte* scratch);

// Floats hold all numbers of u16; results are rounded to the nearest and clamped. Not for nearest.
void resize_u16(const Resize& resize, const uint16_t* in, int64_t in_stride, uint16_t* out,
                int64_t out_stride, std::byte* scratch);
size_t resize_u16_scratch_bytes(const Resize& resize);  // instead of resize_scratch_bytes

// Nearest alone, of elements of 1, 2, 4 or 8 bytes and any meaning: they are only copied. Strides count
// elements.
void resize_nearest(const Resize& resize, size_t element_size, const std::byte* in, int64_t in_stride,
                    std::byte* out, int64_t out_stride, std::byte* scratch);
size_t nearest_scratch_bytes(const Resize& resize);  // for nearest, resize_scratch_bytes returns this

// The scalar twins: same bytes, one pixel at a time.
void resize_u8_scalar(const Resize& resize, const uint8_t* in, int64_t in_stride, uint8_t* out,
                      int64_t out_stride, std::byte* scratch);
void resize_f32_scalar(const Resize& resize, const float* in, int64_t in_stride, float* out,
                       int64_t out_stride, std::byte* scratch);

}  // namespace headrace::kernels
