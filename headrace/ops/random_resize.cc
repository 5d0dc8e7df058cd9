#include "headrace/ops/registered.h"
#include "headrace/ops/resample.h"

namespace headrace {
namespace {

struct RandomResize {
  static constexpr std::string_view name = "random_resize";
  static constexpr std::string_view doc =
      "Resize an image so that its shorter side has a random length, drawn uniformly, and its shape is kept.";
  std::array<int64_t, 2> shorter{256, 480};
  Interpolation interpolation = Interpolation::bilinear;
  bool antialias = true;
  static constexpr std::tuple fields{
      Field{"shorter", &RandomResize::shorter, "Least and greatest length of the shorter side."},
      Field{"interpolation", &RandomResize::interpolation, kInterpolationDoc},
      Field{"antialias", &RandomResize::antialias, kAntialiasDoc}};
  static constexpr std::array inputs{std::string_view("image")};
  static constexpr bool random = true;

  Status check() const {
    if (shorter[0] >= 1 && shorter[0] <= shorter[1] && shorter[1] <= kMaxImageSide) return {};
    return invalid("shorter wants (least, greatest) from 1 to " + std::to_string(kMaxImageSide) + ", got " +
                   Shape(shorter).text());
  }

  Result<TensorSpec> infer(const TensorSpec& image) const {
    HEADRACE_TRY(check_resizable(image));
    return with_size(image, {});
  }

  // Word 0 of the key is the length, here and in run(), which finds it in the shape of `out`.
  Result<Shape> measure(View image, const Key& key) const {
    HEADRACE_TRY(check_resizable(image.spec()));
    const int64_t length = shorter[0] + key.below(0, shorter[1] - shorter[0] + 1);
    HEADRACE_ASSIGN(const ImageSize resized, keep_aspect(image.shape, length));
    return with_size(image.spec(), resized).shape;
  }

  Status run(View image, const Key&, MutView out, Scratch& scratch) const {
    HEADRACE_TRY(check_resizable(image.spec()));
    return resize_box(image, {0, 0, image.shape[0], image.shape[1]}, {interpolation, antialias}, out,
                      scratch);
  }
};

const Registered<RandomResize> registered;

}  // namespace
}  // namespace headrace
