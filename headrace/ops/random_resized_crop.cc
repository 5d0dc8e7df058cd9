#include "headrace/ops/registered.h"
#include "headrace/ops/resample.h"

namespace headrace {
namespace {

struct RandomResizedCrop {
  static constexpr std::string_view name = "random_resized_crop";
  static constexpr std::string_view doc =
      "Cut a window of random area, shape and place out of an image and resize it: the augmentation of "
      "ImageNet training.";
  std::vector<int64_t> size;
  std::array<double, 2> scale = CropRange{}.scale, ratio = CropRange{}.ratio;
  Interpolation interpolation = Interpolation::bilinear;
  bool antialias = true;
  static constexpr std::tuple fields{
      Field{"size", &RandomResizedCrop::size, "Size of the result: one number or (height, width)."},
      Field{"scale", &RandomResizedCrop::scale, "Least and greatest share of the image's area."},
      Field{"ratio", &RandomResizedCrop::ratio, "Least and greatest width / height of the window."},
      Field{"interpolation", &RandomResizedCrop::interpolation, kInterpolationDoc},
      Field{"antialias", &RandomResizedCrop::antialias, kAntialiasDoc}};
  static constexpr std::array inputs{std::string_view("image")};
  static constexpr std::array required{std::string_view("size")};
  static constexpr bool random = true;

  Status check() const {
    HEADRACE_TRY(check_size(size));
    if (!(scale[0] > 0 && scale[0] <= scale[1] && scale[1] <= 1))
      return invalid("scale wants (least, greatest) above 0 and up to 1, got " + text(scale));
    if (!(ratio[0] >= 1e-4 && ratio[0] <= ratio[1] && ratio[1] <= 1e4))
      return invalid("ratio wants (least, greatest) from 0.0001 to 10000, got " + text(ratio));
    return {};
  }

  Result<TensorSpec> infer(const TensorSpec& image) const {
    HEADRACE_TRY(check_resizable(image));
    return with_size(image, {size.front(), size.back()});
  }

  Status run(View image, const Key& key, MutView out, Scratch& scratch) const {
    HEADRACE_TRY(check_resizable(image.spec()));
    return resize_box(image, box_of(image.shape, key), {interpolation, antialias}, out, scratch);
  }

  Result<Box> reads(const Shape& image, const Key& key) const { return box_of(image, key); }

 private:
  Box box_of(const Shape& image, const Key& key) const {
    return sample_crop_box(image[0], image[1], {scale, ratio}, key);
  }
  static std::string text(const std::array<double, 2>& range) {
    return Codec<std::array<double, 2>>::out(range).dump();
  }
};

const Registered<RandomResizedCrop> registered;

}  // namespace
}  // namespace headrace
