#include "headrace/ops/registered.h"
#include "headrace/ops/resample.h"

namespace headrace {
namespace {

struct RandomResize {
  static constexpr std::string_view name = "random_resize";
  static constexpr std::string_view doc =
      "Resize an image so that its shorter side has a random length, drawn uniformly; the aspect ratio is "
      "kept. Inputs given together, such as an image and its mask, must have one height and width and get "
      "the "
      "same length.";
  std::array<int64_t, 2> shorter{256, 480};
  Interpolation interpolation = Interpolation::bilinear, mask_interpolation = Interpolation::nearest;
  bool antialias = true;
  static constexpr std::tuple fields{
      Field{"shorter", &RandomResize::shorter, "Least and greatest length of the shorter side."},
      Field{"interpolation", &RandomResize::interpolation, kInterpolationDoc},
      Field{"mask_interpolation", &RandomResize::mask_interpolation, kMaskInterpolationDoc},
      Field{"antialias", &RandomResize::antialias, kAntialiasDoc}};
  static constexpr std::array inputs{std::string_view("image")};
  static constexpr bool variadic = true, random = true;

  Status check() const {
    if (shorter[0] >= 1 && shorter[0] <= shorter[1] && shorter[1] <= kMaxImageSide) return {};
    return invalid("shorter must be (least, greatest) from 1 to " + std::to_string(kMaxImageSide) + ", got " +
                   Shape(shorter).text());
  }

  Result<std::vector<TensorSpec>> infer(std::span<const TensorSpec> in) const {
    return infer_resized(in, samplings(), [](const Shape&) -> Result<ImageSize> { return ImageSize{}; });
  }

  // run() reads the size from the shape of `out`.
  Status measure(std::span<const View> in, std::span<Shape> out, CallContext& call) const {
    HEADRACE_TRY(check_resizable(in, samplings()));
    HEADRACE_ASSIGN(const ImageSize resized, size_of(in[0].shape, call.key()));
    for (size_t i = 0; i < in.size(); ++i) out[i] = with_size(in[i].spec(), resized).shape;
    return {};
  }

  Status run(std::span<const View> in, std::span<const MutView> out, CallContext& call) const {
    HEADRACE_TRY(check_resizable(in, samplings()));
    return resize_boxes(in, {0, 0, in[0].shape[0], in[0].shape[1]}, samplings(), out, call.scratch());
  }

  Result<Geometry> place(const Geometry& image, const Key& key) const {
    HEADRACE_ASSIGN(const ImageSize resized, size_of(image.shape(1), key));
    return image.resized(resized, samplings().image);
  }
  Placing placing() const { return placing_of(interpolation); }
  RandomResize of_masks() const {
    RandomResize out = *this;
    out.interpolation = mask_interpolation;
    return out;
  }

 private:
  // Word 0 of the key is the length.
  Result<ImageSize> size_of(const Shape& image, const Key& key) const {
    return keep_aspect(image, shorter[0] + key.below(0, shorter[1] - shorter[0] + 1));
  }
  Samplings samplings() const { return {{interpolation, antialias}, mask_interpolation}; }
};

const Registered<RandomResize> registered_random_resize;

}  // namespace
}  // namespace headrace
