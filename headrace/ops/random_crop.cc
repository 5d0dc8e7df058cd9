#include "headrace/ops/registered.h"
#include "headrace/ops/window.h"

namespace headrace {
namespace {

struct RandomCrop {
  static constexpr std::string_view name = "random_crop";
  static constexpr std::string_view doc =
      "Cut a window of a fixed size at a random place. Inputs given together, such as an image and its mask, "
      "must have one height and width and are cut at the same place.";
  std::vector<int64_t> size;
  static constexpr std::tuple fields{
      Field{"size", &RandomCrop::size,
            "Size of the window in pixels: one number for a square, or (height, width)."}};
  static constexpr std::array inputs{std::string_view("image")};
  static constexpr std::array required{std::string_view("size")};
  static constexpr bool variadic = true, random = true;

  Status check() const { return parse_window_size(size).status(); }

  Result<std::vector<TensorSpec>> infer(std::span<const TensorSpec> in) const {
    HEADRACE_ASSIGN(const WindowSize window, parse_window_size(size));
    return infer_windows(in, window);
  }

  // Word 0 of the key places the window's top, word 1 its left.
  Status run(std::span<const View> in, std::span<const MutView> out, CallContext& call) const {
    HEADRACE_TRY(check_one_size(in));
    HEADRACE_ASSIGN(const Box box, reads(in[0].shape, call.key()));
    for (size_t i = 0; i < in.size(); ++i) copy_window(in[i], box.y, box.x, out[i]);
    return {};
  }

  Result<Box> reads(const Shape& image, const Key& key) const {
    HEADRACE_ASSIGN(const WindowSize window, parse_window_size(size));
    HEADRACE_TRY(check_window(image, window));
    return Box{key.below(0, image[0] - window.height + 1), key.below(1, image[1] - window.width + 1),
               window.height, window.width};
  }

  Result<Geometry> place(const Geometry& image, const Key& key) const {
    HEADRACE_ASSIGN(const Box box, reads(image.shape(1), key));
    return image.cropped(box);
  }
};

const Registered<RandomCrop> registered_random_crop;

}  // namespace
}  // namespace headrace
