// What the operators that resize share: which images they take, how large an output may be, and the call of
// the kernel.
//
// For resize, random_resize, random_resized_crop and crop_boxes. Free functions, any thread.
#pragma once
#include <array>
#include <span>
#include <string_view>

#include "headrace/codecs/image.h"
#include "headrace/core/pool.h"
#include "headrace/core/tensor.h"
#include "headrace/kernels/taps.h"
#include "headrace/ops/crop_box.h"
#include "headrace/ops/param.h"

namespace headrace {

using kernels::Interpolation;
template <> struct EnumNames<Interpolation> {
  static constexpr std::array names{std::string_view("bilinear"), std::string_view("bicubic"),
                                    std::string_view("nearest")};
};
inline constexpr std::string_view kInterpolationDoc =
    "How pixels between pixels are found: as Pillow does it.";
inline constexpr std::string_view kAntialiasDoc =
    "Widen the filter when shrinking, so that every pixel counts. Without it only the nearest ones do.";

struct Sampling {
  Interpolation interpolation = Interpolation::bilinear;
  bool antialias = true;
};

struct ImageSize {
  int64_t height = kAny, width = kAny;
};

// An error unless it is an image that can be resized: u8 or f32, (H, W, C) with 1 to 4 channels or (H, W),
// not empty.
Status check_resizable(const TensorSpec& image);

// One number is the shorter side, two are (height, width); 1 to kMaxImageSide each, as for what a decoder
// reads.
Status check_size(std::span<const int64_t> size);

// (height, width) of an image whose shorter side becomes `shorter`: the longer one is cut to int(shorter *
// longer / old shorter), as torchvision does. Unknown where the image's is. An error when the longer side
// would be too long.
Result<ImageSize> keep_aspect(const Shape& image, int64_t shorter);

// The same image with another height and width.
TensorSpec with_size(const TensorSpec& image, ImageSize size);

// Resize the part `box` of `image` into `out`, all of it. Only pixels of the box count. REQUIRES:
// check_resizable of the image, a box of at least one pixel within it, and `out` of its dtype and channels.
Status resize_box(View image, const Box& box, Sampling sampling, MutView out, Scratch& scratch);

}  // namespace headrace
