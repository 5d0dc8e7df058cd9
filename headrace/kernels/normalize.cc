#include "headrace/kernels/normalize.h"

#include <algorithm>

#include "headrace/kernels/affine.h"
#include "headrace/kernels/planes.h"

namespace headrace::kernels {
namespace {

// Pixels that go through the steps together, small enough for the first-level cache. A wide pixel goes alone.
constexpr int64_t kChunk = 512;
constexpr int64_t kChunkElements = 4 * kChunk;

// An f32 picture from this size on has left the caches when it is read: it is one of a batch. Storing past
// the caches saves reading each line before it is written (5 % of a whole training pipeline).
constexpr int64_t kStreamFrom = 1 << 16;  // elements

// The parameters of the steps, and inverses of the standard deviations where they give the same quotients for
// bytes.
struct Plan : Normalize {
  const float* inverse = nullptr;
  bool streams = false;
  // The arithmetic of `count` channels from `first` on.
  Affine affine(int64_t first, int64_t count) const {
    return {mean + first, std + first, count, scale, inverse ? inverse + first : nullptr, streams};
  }
};

// Results of `apply`, written as the output's dtype from element `at` on.
template <class T>
void put(const Plan& n, const Affine& affine, const T* in, int64_t count, std::byte* out, int64_t at) {
  if (n.dtype == DType::f32) return apply(affine, in, count, reinterpret_cast<float*>(out) + at);
  alignas(64) float results[kChunkElements];
  apply(affine, in, count, results);
  if (n.dtype == DType::f16)
    narrow_to_f16(results, count, reinterpret_cast<uint16_t*>(out) + at);
  else if (n.dtype == DType::bf16)
    narrow_to_bf16(results, count, reinterpret_cast<uint16_t*>(out) + at);
  else
    round_to_u8(results, count, reinterpret_cast<uint8_t*>(out) + at);
}

// `pixels` consecutive pixels, to position `first` of the output. At most four channels.
template <class T> void chunk(const Plan& n, const T* in, int64_t pixels, int64_t first, std::byte* out) {
  if (!n.planar || n.channels == 1)
    return put(n, n.affine(0, n.channels), in, pixels * n.channels, out, first * n.channels);
  T planes[kChunkElements];
  to_planes(in, pixels, n.channels, planes, kChunk);
  for (int64_t c = 0; c < n.channels; ++c)
    put(n, n.affine(c, 1), planes + c * kChunk, pixels, out, c * n.height * n.width + first);
}

// Any number of channels, one number at a time.
template <class T> void pixel_by_pixel(const Plan& n, const T* in, int64_t in_stride, std::byte* out) {
  for (int64_t y = 0; y < n.height; ++y)
    for (int64_t x = 0; x < n.width; ++x) {
      const int64_t column = n.mirrored ? n.width - 1 - x : x, at = y * n.width + x;
      for (int64_t c = 0; c < n.channels; ++c)
        put(n, n.affine(c, 1), in + y * in_stride + column * n.channels + c, 1, out,
            n.planar ? c * n.height * n.width + at : at * n.channels + c);
    }
}

template <class T> void normalize_rows(const Plan& n, const T* in, int64_t in_stride, std::byte* out) {
  if (n.channels > 4) return pixel_by_pixel(n, in, in_stride, out);
  const bool one_run =
      !n.mirrored && in_stride == n.width * n.channels;  // rows follow each other: one long row
  const int64_t height = one_run ? 1 : n.height, width = one_run ? n.height * n.width : n.width;
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; x += kChunk) {
      const int64_t pixels = std::min(kChunk, width - x);
      const T* row = in + y * in_stride;
      if (!n.mirrored) {
        chunk(n, row + x * n.channels, pixels, y * width + x, out);
        continue;
      }
      T mirror[kChunkElements];
      mirror_row(reinterpret_cast<const std::byte*>(row + (width - x - pixels) * n.channels), pixels,
                 sizeof(T) * static_cast<size_t>(n.channels), reinterpret_cast<std::byte*>(mirror));
      chunk(n, mirror, pixels, y * width + x, out);
    }
}

}  // namespace

void normalize(const Normalize& n, const uint8_t* in, int64_t in_stride, std::byte* out) {
  float inverse[4];
  const bool by_inverse = n.channels <= 4 && find_inverses({n.mean, n.std, n.channels, n.scale}, inverse);
  normalize_rows<uint8_t>({n, by_inverse ? inverse : nullptr}, in, in_stride, out);
}
void normalize(const Normalize& n, const float* in, int64_t in_stride, std::byte* out) {
  normalize_rows<float>({n}, in, in_stride, out);
}

RowNormalizer::RowNormalizer(const Normalize& n)
    : normalize_(n),
      by_inverse_(find_inverses({n.mean, n.std, n.channels, n.scale}, inverse_)),
      streams_(n.dtype == DType::f32 && n.height * n.width * n.channels >= kStreamFrom) {}

void RowNormalizer::row(const uint8_t* const* planes, int64_t y, std::byte* out) const {
  const Plan n{normalize_, by_inverse_ ? inverse_ : nullptr, streams_};
  const int64_t first = y * n.width;
  if (n.planar || n.channels == 1) {
    for (int64_t c = 0; c < n.channels; ++c)
      for (int64_t x = 0; x < n.width; x += kChunkElements)
        put(n, n.affine(c, 1), planes[c] + x, std::min(kChunkElements, n.width - x), out,
            c * n.height * n.width + first + x);
    return;
  }
  uint8_t pixels[kChunkElements];
  for (int64_t x = 0; x < n.width; x += kChunk) {
    const int64_t count = std::min(kChunk, n.width - x);
    const uint8_t* const parts[] = {planes[0] + x, planes[1] + x, n.channels > 2 ? planes[2] + x : nullptr,
                                    n.channels > 3 ? planes[3] + x : nullptr};
    from_planes(parts, count, n.channels, pixels);
    chunk<uint8_t>(n, pixels, count, first + x, out);
  }
}

void normalize_table(const Normalize& n, int64_t channel, float* table) {
  uint8_t values[256];
  for (int i = 0; i < 256; ++i) values[i] = static_cast<uint8_t>(i);
  apply_scalar({n.mean + channel, n.std + channel, 1, n.scale}, values, 256, table);
}

}  // namespace headrace::kernels
