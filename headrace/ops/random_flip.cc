// The operator to read first: parameters, checks, shapes, randomness and pixels.
#include <cstring>

#include "headrace/ops/registered.h"
#include "headrace/ops/window.h"

namespace headrace {
namespace {

// Reverse the order of `width` pixels. `in` and `out` do not overlap.
void mirror_row(const std::byte* in, int64_t width, size_t pixel_size, std::byte* out) {
  const auto mirror = [&](auto size) {  // a size known to the compiler makes memcpy a move, not a call
    for (const std::byte* pixel = in + width * size; pixel != in; out += size)
      std::memcpy(out, pixel -= size, size);
  };
  switch (pixel_size) {
    case 1: return mirror(std::integral_constant<size_t, 1>());
    case 3: return mirror(std::integral_constant<size_t, 3>());
    case 4: return mirror(std::integral_constant<size_t, 4>());
    default: return mirror(pixel_size);
  }
}

struct RandomFlip {
  static constexpr std::string_view name = "random_flip";
  static constexpr std::string_view doc =
      "Mirror images left to right with probability `p`. Inputs given together, such as an image and its "
      "mask, must have one height and width and are mirrored together.";
  Arg<float> p = 0.5f;
  static constexpr std::tuple fields{
      Field{"p", &RandomFlip::p, "Probability of mirroring a sample, 0 to 1."}};
  static constexpr std::array inputs{std::string_view("image")};
  static constexpr bool variadic = true, random = true;

  Status check() const {
    if (p >= 0.0f && p <= 1.0f) return {};
    return invalid("p must be a probability from 0 to 1, got " + std::to_string(p.value));
  }

  // Called when the graph is built: the output has the dtype and the shape of the input.
  Result<std::vector<TensorSpec>> infer(std::span<const TensorSpec> in) const {
    for (const TensorSpec& image : in) {
      if (is_text(image.dtype) || image.shape.rank() < 2 || image.shape.rank() > 3)
        return invalid({.expected = "images (H, W) or (H, W, C)", .got = image.text()});
      HEADRACE_TRY(check_layout(image));
    }
    return std::vector<TensorSpec>(in.begin(), in.end());
  }

  // Per sample, into memory that the engine provides. One draw decides for all inputs: word 0 of the key.
  Status run(std::span<const View> in, std::span<const MutView> out, CallContext& call) const {
    HEADRACE_TRY(check_one_size(in));
    const bool mirrored = mirrors(call.key());
    for (size_t i = 0; i < in.size(); ++i) {
      const View& image = in[i];
      const size_t size = image.size_bytes();
      if (!mirrored || size == 0) {
        if (size > 0) std::memcpy(out[i].data, image.data, size);
        continue;
      }
      const int64_t height = image.shape[0], width = image.shape[1];
      const size_t row_size = size / static_cast<size_t>(height);
      for (size_t at = 0; at < size; at += row_size)
        mirror_row(image.data + at, width, row_size / static_cast<size_t>(width), out[i].data + at);
    }
    return {};
  }

  // The same without pixels, for decoders that crop, resize and mirror while decoding.
  Result<Geometry> place(const Geometry& image, const Key& key) const {
    return mirrors(key) ? image.flipped() : image;
  }

 private:
  bool mirrors(const Key& key) const { return key.uniform(0) < p; }
};

const Registered<RandomFlip> registered_random_flip;

}  // namespace
}  // namespace headrace
