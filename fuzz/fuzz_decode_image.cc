// Any bytes, decoded in all colour modes and dtypes into memory of exactly the measured size, and turned
// upright; and pictures of the upright image: the whole, a corner, and both together.
#include <cstdlib>
#include <vector>

#include "headrace/codecs/exif.h"
#include "headrace/codecs/image.h"
#include "headrace/codecs/resampled.h"

using headrace::Color;
using headrace::DType;

namespace {

constexpr int64_t kMaxPixels = 1 << 22;  // larger images only slow the fuzzer down

void decode(std::span<const std::byte> bytes, const headrace::ImageHeader& header, Color color) {
  if (!headrace::check_color(header, color).ok()) return;
  const int channels = headrace::decoded_channels(header, color);
  for (const DType dtype : {DType::u8, DType::u16, DType::f32}) {
    if (!headrace::gives_samples(header, color, dtype)) continue;
    const size_t pixel = static_cast<size_t>(channels) * headrace::size_of(dtype),
                 row = static_cast<size_t>(header.width) * pixel;
    std::vector<std::byte> pixels(row * static_cast<size_t>(header.height));
    headrace::Scratch scratch;
    if (!headrace::decode_samples(bytes, header, color, dtype, header.whole(), pixels.data(), row, scratch)
             .ok())
      continue;
    std::vector<uint8_t> upright(pixels.size());
    headrace::apply_orientation(reinterpret_cast<const uint8_t*>(pixels.data()), header.height, header.width,
                                static_cast<int>(pixel), header.orientation, upright.data());
  }
}

// The sum of a picture's pixels.
class Sum final : public headrace::RowSink {
 public:
  explicit Sum(int64_t width) : width_(width) {}
  void take(int64_t y, const uint8_t* const* planes) override {
    if (y == 0) sum_ = 0;  // starts again at the first row
    for (int c = 0; c < 3; ++c)
      for (int64_t x = 0; x < width_; ++x) sum_ += static_cast<uint64_t>((y + 1) * (x + 2)) * planes[c][x];
  }
  uint64_t value() const { return sum_; }

 private:
  int64_t width_;
  uint64_t sum_ = 0;
};

void resample(std::span<const std::byte> bytes, const headrace::ImageHeader& header) {
  const bool transposed = headrace::orientation_transposes(header.orientation);
  const int64_t height = transposed ? header.width : header.height,
                width = transposed ? header.height : header.width;
  const headrace::Box corner{height - (height + 1) / 2, width - (width + 1) / 2, (height + 1) / 2,
                             (width + 1) / 2};
  const headrace::Resampled pictures[] = {
      {.from = {0, 0, height, width}, .height = 9, .width = 5, .window = {0, 0, 9, 5}},
      {.from = corner, .height = 6, .width = 7, .window = {1, 0, 5, 7}}};
  const auto made = [&](std::span<const headrace::Resampled> some,
                        std::span<headrace::RowSink* const> sinks) {
    headrace::Scratch scratch;
    return headrace::decode_resampled(bytes, header, Color::rgb, true, some, sinks, scratch).ok();
  };
  Sum whole(5), both_whole(5), both_corner(7);
  headrace::RowSink* const one[] = {&whole};
  headrace::RowSink* const both[] = {&both_whole, &both_corner};
  if (!made(std::span(pictures).first(1), one) || !made(pictures, both)) return;
  if (whole.value() != both_whole.value()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto header = headrace::read_image_header(bytes);
  if (!header.ok() || header->height * header->width > kMaxPixels) return 0;
  for (const Color color : {Color::rgb, Color::gray, Color::unchanged, Color::index})
    decode(bytes, *header, color);
  if (headrace::check_color(*header, Color::rgb).ok()) resample(bytes, *header);
  return 0;
}
