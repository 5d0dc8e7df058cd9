// Rearranges the pixels of a row: mirrors it, splits it into one plane per channel (HWC to CHW), interleaves
// planes again.
//
// Free functions on borrowed memory, any thread; `in` and `out` do not overlap. Each SIMD kernel has a scalar
// twin. Nothing is read or written beyond the counts.
#pragma once
#include <cstddef>
#include <cstdint>

namespace headrace::kernels {

// Reverses the order of `width` pixels of `pixel_size` bytes each. Sizes 1 to 4 are fast.
void mirror_row(const std::byte* in, int64_t width, size_t pixel_size, std::byte* out);
void mirror_row_scalar(const std::byte* in, int64_t width, size_t pixel_size, std::byte* out);

// Channel c of pixel i: in[i * channels + c] goes to planes[c * plane_stride + i]. One to four channels are
// fast.
void to_planes(const uint8_t* in, int64_t pixels, int64_t channels, uint8_t* planes, int64_t plane_stride);
void to_planes(const float* in, int64_t pixels, int64_t channels, float* planes, int64_t plane_stride);
void to_planes_scalar(const uint8_t* in, int64_t pixels, int64_t channels, uint8_t* planes,
                      int64_t plane_stride);

// The inverse: planes[c] holds channel c, at any address.
void from_planes(const uint8_t* const* planes, int64_t pixels, int64_t channels, uint8_t* out);
void from_planes_scalar(const uint8_t* const* planes, int64_t pixels, int64_t channels, uint8_t* out);

}  // namespace headrace::kernels
