// The scalar twins of the resize kernels: whole images between the passes, one number at a time. For tests,
// so they allocate.
#include <cstring>
#include <vector>

#include "headrace/kernels/resample_floats.h"
#include "headrace/kernels/resample_rows.h"
#include "headrace/kernels/resize.h"

namespace headrace::kernels {
namespace {

Taps<int32_t> taps_of(const Axis& axis, std::byte* memory, uint8_t) { return fixed_taps(axis, memory); }
Taps<float> taps_of(const Axis& axis, std::byte* memory, float) { return float_taps(axis, memory); }

template <class T> using Rows = std::vector<std::vector<T>>;

template <class T> Rows<T> across(const Rows<T>& in, const Axis& axis, int channels) {
  std::vector<double> memory(taps_bytes(axis) / sizeof(double) + 1);
  const auto taps = taps_of(axis, reinterpret_cast<std::byte*>(memory.data()), T{});
  Rows<T> out(in.size(), std::vector<T>(static_cast<size_t>(axis.out * channels)));
  for (size_t y = 0; y < in.size(); ++y) {
    const T* row = in[y].data();
    resample_across_scalar(&row, 1, channels, taps, axis.out, out[y].data(), 0);
  }
  return out;
}

template <class T> Rows<T> down(const Rows<T>& in, const Axis& axis) {
  std::vector<double> memory(taps_bytes(axis) / sizeof(double) + 1);
  const auto taps = taps_of(axis, reinterpret_cast<std::byte*>(memory.data()), T{});
  Rows<T> out(static_cast<size_t>(axis.out), std::vector<T>(in[0].size()));
  for (int64_t y = 0; y < axis.out; ++y) {
    std::vector<const T*> window;
    for (int32_t k = 0; k < taps.count[y]; ++k)
      window.push_back(in[static_cast<size_t>(taps.first[y] + k)].data());
    std::vector<T>& row = out[static_cast<size_t>(y)];
    resample_down_scalar(window.data(), taps.weights + y * taps.stride, taps.count[y], row.data(),
                         static_cast<int64_t>(row.size()));
  }
  return out;
}

template <class T> void resize_plainly(const Resize& r, const T* in, int64_t in_stride, T* out,
                                       int64_t out_stride, std::byte* scratch) {
  if (r.interpolation == Interpolation::nearest)
    return resize_nearest(r, sizeof(T), reinterpret_cast<const std::byte*>(in), in_stride,
                          reinterpret_cast<std::byte*>(out), out_stride, scratch);
  const Axis columns{r.in_width, r.out_width, r.interpolation, r.antialias},
      rows{r.in_height, r.out_height, r.interpolation, r.antialias};
  Rows<T> image;
  for (int64_t y = 0; y < r.in_height; ++y)
    image.emplace_back(in + y * in_stride, in + y * in_stride + r.in_width * r.channels);
  const bool goes_across = r.in_width != r.out_width, goes_down = r.in_height != r.out_height;
  if (goes_across && across_first(r)) image = across(image, columns, r.channels);
  if (goes_down) image = down(image, rows);
  if (goes_across && !across_first(r)) image = across(image, columns, r.channels);
  for (int64_t y = 0; y < r.out_height; ++y)
    std::memcpy(out + y * out_stride, image[static_cast<size_t>(y)].data(),
                static_cast<size_t>(r.out_width * r.channels) * sizeof(T));
}

}  // namespace

void resize_u8_scalar(const Resize& r, const uint8_t* in, int64_t in_stride, uint8_t* out, int64_t out_stride,
                      std::byte* scratch) {
  resize_plainly(r, in, in_stride, out, out_stride, scratch);
}
void resize_f32_scalar(const Resize& r, const float* in, int64_t in_stride, float* out, int64_t out_stride,
                       std::byte* scratch) {
  resize_plainly(r, in, in_stride, out, out_stride, scratch);
}

}  // namespace headrace::kernels
