#include <algorithm>
#include <cmath>

#include "headrace/ops/registered.h"
#include "headrace/ops/resample.h"

namespace headrace {
namespace {

using Corners = std::array<double, 4>;  // x_min, y_min, x_max, y_max

Corners read_corners(const View& boxes, int64_t row) {
  Corners corners;
  for (int64_t i = 0; i < 4; ++i) {
    double& corner = corners[static_cast<size_t>(i)];
    if (boxes.dtype == DType::f32)
      corner = static_cast<double>(boxes.as<float>()[4 * row + i]);
    else if (boxes.dtype == DType::i32)
      corner = boxes.as<int32_t>()[4 * row + i];
    else
      corner = static_cast<double>(boxes.as<int64_t>()[4 * row + i]);
  }
  return corners;
}

struct CropBoxes {
  static constexpr std::string_view name = "crop_boxes";
  static constexpr std::string_view doc =
      "Cut every box out of an image and resize the pieces to one size: (n, 4) boxes give (n, height, width, "
      "C).";
  std::vector<int64_t> size;
  Interpolation interpolation = Interpolation::bilinear;
  bool antialias = true;
  static constexpr std::tuple fields{
      Field{"size", &CropBoxes::size, "Size of each piece: one number or (height, width)."},
      Field{"interpolation", &CropBoxes::interpolation, kInterpolationDoc},
      Field{"antialias", &CropBoxes::antialias, kAntialiasDoc}};
  // Boxes are (x_min, y_min, x_max, y_max) in pixels, the maxima exclusive; fractions are rounded, ties to
  // even.
  static constexpr std::array inputs{std::string_view("image"), std::string_view("boxes")};
  static constexpr std::array required{std::string_view("size")};

  Status check() const { return check_size(size); }

  Result<std::vector<TensorSpec>> infer(std::span<const TensorSpec> in) const {
    HEADRACE_TRY(check_inputs(in[0], in[1]));
    const TensorSpec piece = with_size(in[0], {size.front(), size.back()});
    return std::vector<TensorSpec>{{piece.dtype, piece.shape.with_front(in[1].shape[0])}};
  }

  Status run(std::span<const View> in, std::span<const MutView> out, CallContext& call) const {
    const View &image = in[0], &boxes = in[1];
    HEADRACE_TRY(check_inputs(image.spec(), boxes.spec()));
    MutView piece{image.dtype, out[0].shape.without_front(), out[0].data};
    for (int64_t row = 0; row < boxes.shape[0]; ++row, piece.data += piece.size_bytes()) {
      HEADRACE_ASSIGN(const Box box, clip(boxes, row, image.shape));
      HEADRACE_TRY(resize_box(image, box, {interpolation, antialias}, piece, call.scratch()));
    }
    return {};
  }

 private:
  static Status check_inputs(const TensorSpec& image, const TensorSpec& boxes) {
    if ((image.dtype != DType::u8 && image.dtype != DType::u16) || image.shape.rank() != 3)
      return invalid({.expected = "a uint8 or uint16 image (H, W, C)", .got = image.text()});
    HEADRACE_TRY(check_resizable(image));
    const bool number = boxes.dtype == DType::i64 || boxes.dtype == DType::i32 || boxes.dtype == DType::f32;
    if (number && boxes.shape.rank() == 2 && (boxes.shape[1] == 4 || boxes.shape[1] == kAny)) return {};
    return invalid({.expected = "int64, int32 or float32 boxes (n, 4)", .got = boxes.text()});
  }

  // The part of the box inside the image, in whole pixels.
  static Result<Box> clip(const View& boxes, int64_t row, const Shape& image) {
    const Corners corners = read_corners(boxes, row);
    std::array<int64_t, 4> pixels{};
    bool numbers = true;
    for (size_t i = 0; i < 4; ++i) {
      const auto most = static_cast<double>(image[i % 2 == 0 ? 1 : 0]);
      numbers = numbers && !std::isnan(corners[i]);
      if (numbers) pixels[i] = static_cast<int64_t>(std::nearbyint(std::clamp(corners[i], 0.0, most)));
    }
    if (numbers && pixels[0] < pixels[2] && pixels[1] < pixels[3])
      return Box{pixels[1], pixels[0], pixels[3] - pixels[1], pixels[2] - pixels[0]};
    return corrupt(
        {.expected = "boxes with at least one pixel inside the image " + Shape(image.dims().first(2)).text(),
         .got = "box " + std::to_string(row) +
                " (x_min, y_min, x_max, y_max) = " + Codec<Corners>::out(corners).dump()});
  }
};

const Registered<CropBoxes> registered_crop_boxes;

}  // namespace
}  // namespace headrace
