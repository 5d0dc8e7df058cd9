#include "headrace/ops/registered.h"
#include "headrace/ops/window.h"

namespace headrace {
namespace {

// Half of `rest` rounded to the nearest, ties to even, as torchvision places its window.
int64_t half(int64_t rest) { return rest / 2 + (rest % 4 == 3 ? 1 : 0); }

struct CenterCrop {
  static constexpr std::string_view name = "center_crop";
  static constexpr std::string_view doc =
      "Cut a window of a fixed size from the middle of an image. Where the middle is between two pixels, the "
      "window's corner is rounded to the even one, as in torchvision. Inputs given together, such as an "
      "image "
      "and its mask, must have one height and width.";
  std::vector<int64_t> size;
  static constexpr std::tuple fields{
      Field{"size", &CenterCrop::size,
            "Size of the window in pixels: one number for a square, or (height, width)."}};
  static constexpr std::array inputs{std::string_view("image")};
  static constexpr std::array required{std::string_view("size")};
  static constexpr bool variadic = true;

  Status check() const { return parse_window_size(size).status(); }

  Result<std::vector<TensorSpec>> infer(std::span<const TensorSpec> in) const {
    HEADRACE_ASSIGN(const WindowSize window, parse_window_size(size));
    return infer_windows(in, window);
  }

  Status run(std::span<const View> in, std::span<const MutView> out, CallContext&) const {
    HEADRACE_TRY(check_one_size(in));
    HEADRACE_ASSIGN(const Box box, reads(in[0].shape, {}));
    for (size_t i = 0; i < in.size(); ++i) copy_window(in[i], box.y, box.x, out[i]);
    return {};
  }

  Result<Box> reads(const Shape& image, const Key&) const {
    HEADRACE_ASSIGN(const WindowSize window, parse_window_size(size));
    HEADRACE_TRY(check_window(image, window));
    return Box{half(image[0] - window.height), half(image[1] - window.width), window.height, window.width};
  }

  Result<Geometry> place(const Geometry& image, const Key& key) const {
    HEADRACE_ASSIGN(const Box box, reads(image.shape(1), key));
    return image.cropped(box);
  }
};

const Registered<CenterCrop> registered_center_crop;

}  // namespace
}  // namespace headrace
