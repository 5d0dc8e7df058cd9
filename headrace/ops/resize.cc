#include "headrace/ops/registered.h"
#include "headrace/ops/resample.h"

namespace headrace {
namespace {

struct Resize {
  static constexpr std::string_view name = "resize";
  static constexpr std::string_view doc =
      "Resize an image: to a height and width, or so that its shorter side has a length and its shape is "
      "kept.";
  std::vector<int64_t> size;
  Interpolation interpolation = Interpolation::bilinear;
  bool antialias = true;
  static constexpr std::tuple fields{
      Field{"size", &Resize::size, "(height, width), or one number: the shorter side."},
      Field{"interpolation", &Resize::interpolation, kInterpolationDoc},
      Field{"antialias", &Resize::antialias, kAntialiasDoc}};
  static constexpr std::array inputs{std::string_view("image")};
  static constexpr std::array required{std::string_view("size")};

  Status check() const { return check_size(size); }

  Result<TensorSpec> infer(const TensorSpec& image) const {
    HEADRACE_TRY(check_resizable(image));
    if (size.size() == 2) return with_size(image, {size[0], size[1]});
    HEADRACE_ASSIGN(const ImageSize resized, keep_aspect(image.shape, size[0]));
    return with_size(image, resized);
  }

  Status run(View image, const Key&, MutView out, Scratch& scratch) const {
    HEADRACE_TRY(check_resizable(image.spec()));
    return resize_box(image, {0, 0, image.shape[0], image.shape[1]}, {interpolation, antialias}, out,
                      scratch);
  }
};

const Registered<Resize> registered;

}  // namespace
}  // namespace headrace
