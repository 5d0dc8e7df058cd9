#include "headrace/ops/resample.h"

#include <algorithm>
#include <string>

#include "headrace/kernels/resize.h"
#include "headrace/ops/window.h"

namespace headrace {
namespace {

constexpr int kMaxChannels = 4;

bool fits(int64_t dim, int64_t most) { return dim == kAny || (dim >= 1 && dim <= most); }

}  // namespace

Status check_resizable(const TensorSpec& image, Interpolation interpolation) {
  const Shape& shape = image.shape;
  const bool nearest = interpolation == Interpolation::nearest;
  const bool known_type =
      nearest ? !is_text(image.dtype)
              : image.dtype == DType::u8 || image.dtype == DType::u16 || image.dtype == DType::f32;
  if (!known_type || shape.rank() < 2 || shape.rank() > 3 ||
      (shape.rank() == 3 && !fits(shape[2], kMaxChannels)))
    return invalid((nearest ? "expected an image" : "expected a uint8, uint16 or float32 image") +
                   std::string(" (H, W, C) of 1 to 4 channels, or (H, W), got ") + image.text());
  if (!fits(shape[0], kernels::kMaxSide) || !fits(shape[1], kernels::kMaxSide))
    return invalid({.expected = "an image of 1 to " + std::to_string(kernels::kMaxSide) + " pixels a side",
                    .got = image.text()});
  return {};
}

Status check_size(std::span<const int64_t> size) {
  if (size.empty() || size.size() > 2)
    return invalid("size must be one number or (height, width), got " + std::to_string(size.size()) +
                   " numbers");
  for (int64_t side : size)
    if (side < 1 || side > kMaxImageSide)
      return invalid("size must be from 1 to " + std::to_string(kMaxImageSide) + ", got " +
                     std::to_string(side));
  return {};
}

Result<ImageSize> keep_aspect(const Shape& image, int64_t shorter) {
  const int64_t height = image[0], width = image[1];
  if (height == kAny || width == kAny) return ImageSize{};
  const int64_t longer = shorter * std::max(height, width) / std::min(height, width);
  if (longer > kMaxImageSide)
    return invalid({.expected = "a result of at most " + std::to_string(kMaxImageSide) + " pixels a side",
                    .got = std::to_string(longer) + " from an image " + image.text()});
  return height <= width ? ImageSize{shorter, longer} : ImageSize{longer, shorter};
}

TensorSpec with_size(const TensorSpec& image, ImageSize size) {
  TensorSpec out = image;
  out.shape.set(0, size.height);
  out.shape.set(1, size.width);
  return out;
}

Status check_resizable(std::span<const View> images, const Samplings& samplings) {
  for (size_t i = 0; i < images.size(); ++i)
    HEADRACE_TRY(check_resizable(images[i].spec(), samplings.of(i).interpolation));
  return check_one_size(images);
}

Status resize_boxes(std::span<const View> images, const Box& box, const Samplings& samplings,
                    std::span<const MutView> out, Scratch& scratch) {
  for (size_t i = 0; i < images.size(); ++i)
    HEADRACE_TRY(resize_box(images[i], box, samplings.of(i), out[i], scratch));
  return {};
}

Status resize_box(View image, const Box& box, Sampling sampling, MutView out, Scratch& scratch) {
  const int64_t channels = image.shape.rank() == 3 ? image.shape[2] : 1;
  const kernels::Resize resize{box.h,
                               box.w,
                               out.shape[0],
                               out.shape[1],
                               static_cast<int>(channels),
                               sampling.interpolation,
                               sampling.antialias};
  const int64_t in_stride = image.shape[1] * channels, out_stride = out.shape[1] * channels;
  const int64_t corner = box.y * in_stride + box.x * channels;
  const Scratch::Mark mark = scratch.mark();
  const bool as_floats = image.dtype == DType::u16 && sampling.interpolation != Interpolation::nearest;
  const size_t size =
      as_floats ? kernels::resize_u16_scratch_bytes(resize) : kernels::resize_scratch_bytes(resize);
  const std::span<std::byte> memory = scratch.take(size);
  if (memory.empty()) return scratch.over_budget(size, "intermediate pixels");
  if (sampling.interpolation == Interpolation::nearest)
    kernels::resize_nearest(resize, size_of(image.dtype),
                            image.data + static_cast<size_t>(corner) * size_of(image.dtype), in_stride,
                            out.data, out_stride, memory.data());
  else if (as_floats)
    kernels::resize_u16(resize, image.as<uint16_t>() + corner, in_stride, out.as<uint16_t>(), out_stride,
                        memory.data());
  else if (image.dtype == DType::u8)
    kernels::resize_u8(resize, image.as<uint8_t>() + corner, in_stride, out.as<uint8_t>(), out_stride,
                       memory.data());
  else
    kernels::resize_f32(resize, image.as<float>() + corner, in_stride, out.as<float>(), out_stride,
                        memory.data());
  scratch.reset(mark);
  return {};
}

}  // namespace headrace
