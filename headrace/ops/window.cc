#include "headrace/ops/window.h"

#include <cstring>

namespace headrace {

Result<WindowSize> parse_window_size(std::span<const int64_t> size) {
  if (size.empty() || size.size() > 2)
    return invalid("size must be one number or (height, width), got " + std::to_string(size.size()) +
                   " numbers");
  const WindowSize window{size.front(), size.back()};
  if (window.height >= 1 && window.width >= 1) return window;
  return invalid("size must be at least 1, got " + Shape(size).text());
}

Status check_window(const Shape& image, WindowSize window) {
  const auto fits = [](int64_t side, int64_t wanted) { return side == kAny || side >= wanted; };
  if (fits(image[0], window.height) && fits(image[1], window.width)) return {};
  return invalid({.expected = "an image of at least " + Shape({window.height, window.width}).text(),
                  .got = Shape(image.dims().first(2)).text()});
}

Status check_layout(const TensorSpec& image) {
  constexpr int64_t kMostChannels = 4;
  if (image.shape.rank() != 3) return {};
  const auto is_channels = [](int64_t size) { return size >= 1 && size <= kMostChannels; };
  const auto is_side = [](int64_t size) { return size > kMostChannels; };
  if (!is_channels(image.shape[0]) || !is_side(image.shape[1]) || !is_side(image.shape[2])) return {};
  return invalid({.expected = "an image (H, W) or (H, W, C)",
                  .got = image.text() + ", which looks like (C, H, W)",
                  .fix = "crop and flip before normalize(layout=\"CHW\")"});
}

Status check_one_size(std::span<const View> images) {
  const Shape& first = images[0].shape;
  for (const View& image : images)
    if (image.shape[0] != first[0] || image.shape[1] != first[1])
      return invalid(
          {.expected = "inputs of one height and width", .got = first.text() + " and " + image.shape.text()});
  return {};
}

Result<TensorSpec> infer_window(const TensorSpec& image, WindowSize window) {
  const int rank = image.shape.rank();
  if (is_text(image.dtype) || rank < 2 || rank > 3)
    return invalid({.expected = "an image (H, W) or (H, W, C)", .got = image.text()});
  HEADRACE_TRY(check_layout(image));
  HEADRACE_TRY(check_window(image.shape, window));
  TensorSpec out = image;
  out.shape.set(0, window.height);
  out.shape.set(1, window.width);
  return out;
}

Result<std::vector<TensorSpec>> infer_windows(std::span<const TensorSpec> images, WindowSize window) {
  std::vector<TensorSpec> out;
  for (const TensorSpec& image : images) {
    HEADRACE_ASSIGN(const TensorSpec spec, infer_window(image, window));
    out.push_back(spec);
  }
  return out;
}

void copy_window(View in, int64_t top, int64_t left, MutView out) {
  const size_t pixel_size =
      size_of(in.dtype) * static_cast<size_t>(in.shape.rank() == 3 ? in.shape[2] : int64_t{1});
  const size_t in_row = static_cast<size_t>(in.shape[1]) * pixel_size;
  const size_t out_row = static_cast<size_t>(out.shape[1]) * pixel_size;
  if (out_row == 0) return;
  const std::byte* from =
      in.data + static_cast<size_t>(top) * in_row + static_cast<size_t>(left) * pixel_size;
  std::byte* to = out.data;
  for (int64_t y = 0; y < out.shape[0]; ++y, from += in_row, to += out_row) std::memcpy(to, from, out_row);
}

}  // namespace headrace
