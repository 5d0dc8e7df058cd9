#include "headrace/ops/registered.h"
#include "headrace/ops/resample.h"

namespace headrace {
namespace {

struct RandomResizedCrop {
  static constexpr std::string_view name = "random_resized_crop";
  static constexpr std::string_view doc =
      "Cut a window of random area, shape and place out of an image and resize it: the augmentation of "
      "ImageNet training. Inputs given together, such as an image and its mask, must have one height and "
      "width and share the window.";
  std::vector<int64_t> size;
  std::array<double, 2> scale = CropRange{}.scale, ratio = CropRange{}.ratio;
  Interpolation interpolation = Interpolation::bilinear, mask_interpolation = Interpolation::nearest;
  bool antialias = true;
  static constexpr std::tuple fields{
      Field{"size", &RandomResizedCrop::size, "Size of the result: one number or (height, width)."},
      Field{"scale", &RandomResizedCrop::scale, "Least and greatest fraction of the image's area."},
      Field{"ratio", &RandomResizedCrop::ratio, "Least and greatest width / height of the window."},
      Field{"interpolation", &RandomResizedCrop::interpolation, kInterpolationDoc},
      Field{"mask_interpolation", &RandomResizedCrop::mask_interpolation, kMaskInterpolationDoc},
      Field{"antialias", &RandomResizedCrop::antialias, kAntialiasDoc}};
  static constexpr std::array inputs{std::string_view("image")};
  static constexpr std::array required{std::string_view("size")};
  static constexpr bool variadic = true, random = true;

  Status check() const {
    HEADRACE_TRY(check_size(size));
    if (!(scale[0] > 0 && scale[0] <= scale[1] && scale[1] <= 1))
      return invalid("scale must be (least, greatest) above 0 and up to 1, got " + text(scale));
    if (!(ratio[0] >= 1e-4 && ratio[0] <= ratio[1] && ratio[1] <= 1e4))
      return invalid("ratio must be (least, greatest) from 0.0001 to 10000, got " + text(ratio));
    return {};
  }

  Result<std::vector<TensorSpec>> infer(std::span<const TensorSpec> in) const {
    return infer_resized(in, samplings(), [&](const Shape&) -> Result<ImageSize> {
      return ImageSize{size.front(), size.back()};
    });
  }

  Status run(std::span<const View> in, std::span<const MutView> out, CallContext& call) const {
    HEADRACE_TRY(check_resizable(in, samplings()));
    return resize_boxes(in, box_of(in[0].shape, call.key()), samplings(), out, call.scratch());
  }

  Result<Box> reads(const Shape& image, const Key& key) const { return box_of(image, key); }

  Result<Geometry> place(const Geometry& image, const Key& key) const {
    return image.cropped(box_of(image.shape(1), key)).resized({size.front(), size.back()}, samplings().image);
  }
  Placing placing() const { return placing_of(interpolation); }
  RandomResizedCrop of_masks() const {
    RandomResizedCrop out = *this;
    out.interpolation = mask_interpolation;
    return out;
  }

 private:
  Samplings samplings() const { return {{interpolation, antialias}, mask_interpolation}; }
  Box box_of(const Shape& image, const Key& key) const {
    return sample_crop_box(image[0], image[1], {scale, ratio}, key);
  }
  static std::string text(const std::array<double, 2>& range) {
    return Codec<std::array<double, 2>>::out(range).dump();
  }
};

const Registered<RandomResizedCrop> registered_random_resized_crop;

}  // namespace
}  // namespace headrace
