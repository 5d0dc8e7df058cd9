// A composite: it processes no pixels itself, it expands to three other operators.
#include "headrace/ops/registered.h"

namespace headrace {
namespace {

struct CropMirrorNormalize {
  static constexpr std::string_view name = "crop_mirror_normalize";
  static constexpr std::string_view doc =
      "Cut the middle out of an image, mirror it with some probability, and normalise it: center_crop, "
      "random_flip and normalize in one call.";
  std::optional<std::vector<int64_t>> crop;
  float mirror = 0.0f;
  std::vector<float> mean{0.0f}, std{1.0f};
  std::optional<float> scale;
  DType dtype = DType::f32;
  std::string layout = "CHW";
  static constexpr std::tuple fields{
      Field{"crop", &CropMirrorNormalize::crop,
            "Size of the window: one number or (height, width); None keeps the whole image."},
      Field{"mirror", &CropMirrorNormalize::mirror, "Probability of mirroring left to right, 0 to 1."},
      Field{"mean", &CropMirrorNormalize::mean, "As in normalize."},
      Field{"std", &CropMirrorNormalize::std, "As in normalize."},
      Field{"dtype", &CropMirrorNormalize::dtype, "As in normalize."},
      Field{"layout", &CropMirrorNormalize::layout, "As in normalize."},
      Field{"scale", &CropMirrorNormalize::scale, "As in normalize."}};
  static constexpr std::array inputs{std::string_view("image")};

  Status check() const {
    if (mirror >= 0.0f && mirror <= 1.0f) return {};
    return invalid("mirror must be a probability from 0 to 1, got " + std::to_string(mirror));
  }

  Result<std::vector<int>> expand(Builder& builder, std::span<const int> image) const {
    std::vector<int> last(image.begin(), image.end());
    if (crop) {
      const Value::Object params{{"size", value_of(*crop)}};
      HEADRACE_ASSIGN(last, builder.add("center_crop", params, last));
    }
    if (mirror > 0.0f) {
      const Value::Object params{{"p", Codec<float>::out(mirror)}};
      HEADRACE_ASSIGN(last, builder.add("random_flip", params, last));
    }
    Value params = Value::Object{{"mean", value_of(mean)},
                                 {"std", value_of(std)},
                                 {"dtype", Codec<DType>::out(dtype)},
                                 {"layout", layout}};
    if (scale) params.set("scale", Codec<float>::out(*scale));
    return builder.add("normalize", params, last);
  }

 private:
  template <class T> static Value value_of(const std::vector<T>& list) {
    return Codec<std::vector<T>>::out(list);
  }
};

const Registered<CropMirrorNormalize> registered_crop_mirror_normalize;

}  // namespace
}  // namespace headrace
