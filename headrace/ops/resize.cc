#include "headrace/ops/registered.h"
#include "headrace/ops/resample.h"

namespace headrace {
namespace {

struct Resize {
  static constexpr std::string_view name = "resize";
  static constexpr std::string_view doc =
      "Resize an image: to a height and width, or so that its shorter side has a length and the aspect ratio "
      "is kept. Inputs given together, such as an image and its mask, must have one height and width.";
  std::vector<int64_t> size;
  Interpolation interpolation = Interpolation::bilinear, mask_interpolation = Interpolation::nearest;
  bool antialias = true;
  static constexpr std::tuple fields{
      Field{"size", &Resize::size, "(height, width), or one number: the shorter side."},
      Field{"interpolation", &Resize::interpolation, kInterpolationDoc},
      Field{"mask_interpolation", &Resize::mask_interpolation, kMaskInterpolationDoc},
      Field{"antialias", &Resize::antialias, kAntialiasDoc}};
  static constexpr std::array inputs{std::string_view("image")};
  static constexpr std::array required{std::string_view("size")};
  static constexpr bool variadic = true;

  Status check() const { return check_size(size); }

  Result<std::vector<TensorSpec>> infer(std::span<const TensorSpec> in) const {
    return infer_resized(in, samplings(), [&](const Shape& image) { return size_of(image); });
  }

  Status run(std::span<const View> in, std::span<const MutView> out, CallContext& call) const {
    HEADRACE_TRY(check_resizable(in, samplings()));
    return resize_boxes(in, {0, 0, in[0].shape[0], in[0].shape[1]}, samplings(), out, call.scratch());
  }

  Result<Geometry> place(const Geometry& image, const Key&) const {
    HEADRACE_ASSIGN(const ImageSize resized, size_of(image.shape(1)));
    return image.resized(resized, samplings().image);
  }
  Placing placing() const { return placing_of(interpolation); }
  Resize of_masks() const {
    Resize out = *this;
    out.interpolation = mask_interpolation;
    return out;
  }

 private:
  Result<ImageSize> size_of(const Shape& image) const {
    if (size.size() == 2) return ImageSize{size[0], size[1]};
    return keep_aspect(image, size[0]);
  }
  Samplings samplings() const { return {{interpolation, antialias}, mask_interpolation}; }
};

const Registered<Resize> registered_resize;

}  // namespace
}  // namespace headrace
