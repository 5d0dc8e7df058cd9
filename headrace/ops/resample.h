// Shared by the operators that resize: which images they accept, how large an output may be, and the call of
// the kernel.
//
// For resize, random_resize, random_resized_crop and crop_boxes. Free functions, any thread.
#pragma once
#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "headrace/codecs/image.h"
#include "headrace/core/pool.h"
#include "headrace/core/tensor.h"
#include "headrace/kernels/resample_planes.h"
#include "headrace/kernels/taps.h"
#include "headrace/ops/crop_box.h"
#include "headrace/ops/op.h"
#include "headrace/ops/param.h"

namespace headrace {

using kernels::Interpolation;
template <> struct EnumNames<Interpolation> {
  static constexpr std::array names{std::string_view("bilinear"), std::string_view("bicubic"),
                                    std::string_view("nearest"), std::string_view("lanczos"),
                                    std::string_view("box")};
};
inline constexpr std::string_view kInterpolationDoc =
    "Interpolation between pixels, as in Pillow. \"box\" is the mean of the area.";
inline constexpr std::string_view kAntialiasDoc =
    "Widen the filter when shrinking, so that every pixel counts. Without it only the nearest pixels do.";

inline constexpr std::string_view kMaskInterpolationDoc =
    "Interpolation of the inputs after the first, which are its masks: \"nearest\" keeps class numbers as "
    "they "
    "are.";

struct Sampling {
  Interpolation interpolation = Interpolation::bilinear;
  bool antialias = true;
};

// For inputs given together: the first is the image, the others are its masks.
struct Samplings {
  Sampling image;
  Interpolation mask = Interpolation::nearest;
  Sampling of(size_t input) const { return input == 0 ? image : Sampling{mask, image.antialias}; }
};

// For an operator that resizes. Interpolations that are not defined on planes use decoded pixels.
inline Placing placing_of(Interpolation interpolation) {
  return kernels::is_for_planes(interpolation) ? Placing::resamples : Placing::none;
}

struct ImageSize {
  int64_t height = kAny, width = kAny;
};

// An error unless the image can be resized: uint8, uint16 or float32, for nearest any numbers, (H, W, C) with
// 1 to 4 channels or (H, W), not empty.
Status check_resizable(const TensorSpec& image, Interpolation interpolation = Interpolation::bilinear);

// One number is the shorter side, two are (height, width); 1 to kMaxImageSide each, the limit of the
// decoders.
Status check_size(std::span<const int64_t> size);

// (height, width) of an image whose shorter side becomes `shorter`: the longer one is truncated to
// int(shorter * longer / old shorter), as in torchvision. Unknown where the image's is. An error when the
// longer side would be too long.
Result<ImageSize> keep_aspect(const Shape& image, int64_t shorter);

// The same image with another height and width.
TensorSpec with_size(const TensorSpec& image, ImageSize size);

// The specs of images resized together, each to the size that `size_of(its shape)` returns.
template <class F> Result<std::vector<TensorSpec>> infer_resized(std::span<const TensorSpec> images,
                                                                 const Samplings& samplings, F size_of) {
  std::vector<TensorSpec> out;
  for (const TensorSpec& image : images) {
    HEADRACE_TRY(check_resizable(image, samplings.of(out.size()).interpolation));
    HEADRACE_ASSIGN(const ImageSize size, size_of(image.shape));
    out.push_back(with_size(image, size));
  }
  return out;
}

// An error unless all of them can be resized and have one height and width.
Status check_resizable(std::span<const View> images, const Samplings& samplings);

// Resizes the same part of checked images, each with its sampling. REQUIRES: as resize_box().
Status resize_boxes(std::span<const View> images, const Box& box, const Samplings& samplings,
                    std::span<const MutView> out, Scratch& scratch);

// Resizes the part `box` of `image` to all of `out`. Only pixels of the box count. REQUIRES: check_resizable
// of the image, a box of at least one pixel within it, and `out` of its dtype and channels.
Status resize_box(View image, const Box& box, Sampling sampling, MutView out, Scratch& scratch);

}  // namespace headrace
