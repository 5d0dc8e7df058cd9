// A window cut from images (H, W) or (H, W, C): shared by the cropping operators. Free functions, any thread.
#pragma once
#include <span>
#include <vector>

#include "headrace/core/tensor.h"

namespace headrace {

struct WindowSize {
  int64_t height = 0, width = 0;
};

// One number is a square, two are (height, width); both at least 1.
Result<WindowSize> parse_window_size(std::span<const int64_t> size);

// An error for what is plainly (C, H, W), as normalize(layout="CHW") makes it: its second axis is not the
// width.
Status check_layout(const TensorSpec& image);

// An error that names both when images given together differ in height or width.
Status check_one_size(std::span<const View> images);

// The same image with the window's height and width. An error when it is not an image or is known to be
// smaller.
Result<TensorSpec> infer_window(const TensorSpec& image, WindowSize window);

// The same for each of them.
Result<std::vector<TensorSpec>> infer_windows(std::span<const TensorSpec> images, WindowSize window);

// An error that names both sizes when the window does not fit. REQUIRES: an image as infer_window admits.
Status check_window(const Shape& image, WindowSize window);

// Copies the window whose upper left corner is (top, left). REQUIRES: it lies within `in`; `out` has its
// shape.
void copy_window(View in, int64_t top, int64_t left, MutView out);

}  // namespace headrace
