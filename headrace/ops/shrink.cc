#include <algorithm>

#include "headrace/ops/registered.h"
#include "headrace/ops/resample.h"

namespace headrace {
namespace {

struct Shrink {
  static constexpr std::string_view name = "shrink";
  static constexpr std::string_view doc =
      "Resize an image so that its longer side is at most `max_side`; the aspect ratio is kept, and a "
      "smaller "
      "image is unchanged. Inputs given together, such as an image and its mask, must have one height and "
      "width.";
  int64_t max_side = 0;
  Interpolation interpolation = Interpolation::bilinear, mask_interpolation = Interpolation::nearest;
  bool antialias = true;
  static constexpr std::tuple fields{
      Field{"max_side", &Shrink::max_side, "Maximum length of the longer side in pixels."},
      Field{"interpolation", &Shrink::interpolation, kInterpolationDoc},
      Field{"mask_interpolation", &Shrink::mask_interpolation, kMaskInterpolationDoc},
      Field{"antialias", &Shrink::antialias, kAntialiasDoc}};
  static constexpr std::array inputs{std::string_view("image")};
  static constexpr std::array required{std::string_view("max_side")};
  static constexpr bool variadic = true;

  Status check() const {
    if (max_side >= 1 && max_side <= kMaxImageSide) return {};
    return invalid("max_side must be from 1 to " + std::to_string(kMaxImageSide) + ", got " +
                   std::to_string(max_side));
  }

  Result<std::vector<TensorSpec>> infer(std::span<const TensorSpec> in) const {
    return infer_resized(in, samplings(), [&](const Shape& image) { return size_of(image); });
  }

  Status run(std::span<const View> in, std::span<const MutView> out, CallContext& call) const {
    HEADRACE_TRY(check_resizable(in, samplings()));
    const Shape& image = in[0].shape;
    if (out[0].shape[0] != image[0] || out[0].shape[1] != image[1])
      return resize_boxes(in, {0, 0, image[0], image[1]}, samplings(), out, call.scratch());
    for (size_t i = 0; i < in.size(); ++i) std::ranges::copy(in[i].bytes(), out[i].data);
    return {};
  }

 private:
  // The other side is rounded, and at least 1.
  Result<ImageSize> size_of(const Shape& image) const {
    const int64_t height = image[0], width = image[1];
    if (height == kAny || width == kAny) return ImageSize{};
    const int64_t longer = std::max(height, width);
    if (longer <= max_side) return ImageSize{height, width};
    const auto scaled = [&](int64_t side) {
      return std::max<int64_t>((2 * side * max_side + longer) / (2 * longer), 1);
    };
    return ImageSize{scaled(height), scaled(width)};
  }
  Samplings samplings() const { return {{interpolation, antialias}, mask_interpolation}; }
};

const Registered<Shrink> registered_shrink;

}  // namespace
}  // namespace headrace
