// An operator outside of the tree, from the headers for plug-ins alone: solarize(image, threshold).
#include "headrace/ops/registered.h"

namespace headrace {
namespace {

struct Solarize {
  static constexpr std::string_view name = "solarize";
  static constexpr std::string_view doc =
      "Invert the values of a uint8 image that are at or above `threshold`: v becomes 255 - v.";
  Arg<float> threshold = 128.0f;  // a float, so that a field of any numeric dtype can be converted to it
  static constexpr std::tuple fields{
      Field{"threshold", &Solarize::threshold,
            "Lowest value that is inverted, 0 to 256: 0 inverts all values, 256 none."}};
  static constexpr std::array inputs{std::string_view("image")};
  static constexpr bool elementwise = true;  // the engine leaves it per sample where `threshold` is a field

  Status check() const {
    if (threshold >= 0.0f && threshold <= 256.0f) return {};
    return invalid("threshold must be from 0 to 256, got " + std::to_string(threshold.value));
  }

  // Any shape, because an elementwise operator may get a whole batch.
  Result<TensorSpec> infer(const TensorSpec& in) const {
    if (in.dtype == DType::u8) return in;
    return invalid("expected uint8, got " + in.text());
  }

  Status run(View in, MutView out, CallContext&) const {
    const uint8_t* const from = in.as<uint8_t>();
    uint8_t* const to = out.as<uint8_t>();
    const float lowest = threshold;
    for (size_t i = 0; i < in.size_bytes(); ++i)
      to[i] = from[i] >= lowest ? static_cast<uint8_t>(255 - from[i]) : from[i];
    return {};
  }
};

const Registered<Solarize> registered_solarize;

}  // namespace
}  // namespace headrace
