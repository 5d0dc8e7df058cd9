#include "headrace/ops/normalize.h"

#include <algorithm>
#include <cmath>

#include "headrace/ops/registered.h"

namespace headrace {
namespace {

enum class Layout : uint8_t { hwc, chw };

}  // namespace

template <> struct EnumNames<Layout> {
  static constexpr std::array names{std::string_view("HWC"), std::string_view("CHW")};
};

namespace {

struct Normalize {
  static constexpr std::string_view name = "normalize";
  static constexpr std::string_view doc =
      "Turn the pixels of an image into numbers for a model: (pixel * scale - mean) / std, per channel.";
  std::vector<float> mean{0.0f}, std{1.0f};
  std::optional<float> scale;
  DType dtype = DType::f32;
  Layout layout = Layout::hwc;
  static constexpr std::tuple fields{
      Field{"mean", &Normalize::mean, "Mean, subtracted after scaling: one number, or one per channel."},
      Field{"std", &Normalize::std,
            "Standard deviation, divided by at the end: one number, or one per channel."},
      Field{"scale", &Normalize::scale,
            "Factor applied first; None is 1/255 for a uint8 image and 1 for a float32 one. A uint16 image "
            "needs it: 1/65535 makes samples of 16 bits 0 to 1, 1 keeps the numbers of a depth map."},
      Field{"dtype", &Normalize::dtype,
            "dtype of the result: float32, float16, bfloat16, or uint8 (rounded and clamped)."},
      Field{"layout", &Normalize::layout, "Layout of the result: channels last or first. The image is HWC."}};
  static constexpr std::array inputs{std::string_view("image")};

  Status check() const {
    if (mean.empty() || std.empty()) return invalid("mean and std need at least one number each");
    for (float value : mean)
      if (!std::isfinite(value)) return invalid("mean must be finite, got " + std::to_string(value));
    for (float value : std)
      if (!std::isfinite(value) || value <= 0)
        return invalid("std must be above 0, got " + std::to_string(value));
    if (scale && !std::isfinite(*scale))
      return invalid("scale must be finite, got " + std::to_string(*scale));
    if (dtype == DType::f32 || dtype == DType::f16 || dtype == DType::bf16 || dtype == DType::u8) return {};
    return invalid("dtype must be float32, float16, bfloat16 or uint8, got " +
                   std::string(dtype_name(dtype)));
  }

  Result<TensorSpec> infer(const TensorSpec& image) const {
    const Shape& in = image.shape;
    const bool is_wide = image.dtype == DType::u16;
    if ((image.dtype != DType::u8 && !is_wide && image.dtype != DType::f32) || in.rank() != 3)
      return invalid({.expected = "a uint8, uint16 or float32 image (H, W, C)", .got = image.text()});
    if (is_wide && !scale)
      return invalid({.expected = "scale= for a uint16 image",
                      .got = "None: scale=1/65535 makes samples of 16 bits 0 to 1, 1/1023 those of 10",
                      .fix = "scale=1 keeps the numbers, as of a depth map"});
    for (const auto* list : {&mean, &std})
      if (list->size() > 1 && in[2] != kAny && static_cast<int64_t>(list->size()) != in[2])
        return invalid(
            {.expected = "one " + std::string(list == &mean ? "mean" : "std") + " or one per channel",
             .got = std::to_string(list->size()) + " for " + image.text()});
    return TensorSpec{dtype, layout == Layout::hwc ? in : Shape{in[2], in[0], in[1]}};
  }

  Status run(View image, MutView out, CallContext& call) const {
    HEADRACE_TRY(infer(image.spec()).status());
    if (image.shape.count() == 0) return {};
    const int64_t channels = image.shape[2];
    const Scratch::Mark mark = call.scratch().mark();
    const std::span<float> numbers = call.scratch().take<float>(2 * static_cast<size_t>(channels));
    if (numbers.empty())
      return {Code::exhausted, "no memory for the numbers of " + std::to_string(channels) + " channels"};
    for (size_t c = 0; c < numbers.size() / 2; ++c) {
      numbers[c] = of_channel(mean, c);
      numbers[static_cast<size_t>(channels) + c] = of_channel(std, c);
    }
    const kernels::Normalize job{image.shape[0],
                                 image.shape[1],
                                 channels,
                                 numbers.data(),
                                 numbers.data() + channels,
                                 factor(image),
                                 dtype,
                                 layout == Layout::chw,
                                 false};
    const int64_t stride = image.shape[1] * channels;
    Status status;
    if (image.dtype == DType::u8)
      kernels::normalize(job, image.as<uint8_t>(), stride, out.data);
    else if (image.dtype == DType::f32)
      kernels::normalize(job, image.as<float>(), stride, out.data);
    else
      status = normalize_wide(job, image, out, call.scratch());
    call.scratch().reset(mark);
    return status;
  }

  Normalization normalization() const {
    Normalization out{.scale = scale.value_or(kU8Scale), .dtype = dtype, .planar = layout == Layout::chw};
    for (size_t c = 0; c < out.mean.size(); ++c)
      out.mean[c] = of_channel(mean, c), out.std[c] = of_channel(std, c);
    return out;
  }

 private:
  static constexpr float kU8Scale = 1.0f / 255;
  static Status normalize_wide(const kernels::Normalize& job, const View& image, const MutView& out,
                               Scratch& scratch) {
    const auto count = static_cast<size_t>(image.shape.count());
    const std::span<float> floats = scratch.take<float>(count);
    if (floats.empty()) return scratch.over_budget(count * sizeof(float), "an image as floats");
    std::copy_n(image.as<uint16_t>(), count, floats.data());
    kernels::normalize(job, floats.data(), image.shape[1] * image.shape[2], out.data);
    return {};
  }
  static float of_channel(const std::vector<float>& list, size_t channel) {
    return list.size() > 1 ? list[std::min(channel, list.size() - 1)] : list[0];
  }
  float factor(const View& image) const { return scale.value_or(image.dtype == DType::u8 ? kU8Scale : 1.0f); }
};

const Registered<Normalize> registered_normalize;

}  // namespace

std::optional<Normalization> normalization_of_u8(const AnyOp& op) {
  const auto* normalize = dynamic_cast<const op_detail::Adapter<Normalize>*>(&op);
  if (!normalize) return std::nullopt;
  return normalize->op().normalization();
}

}  // namespace headrace
