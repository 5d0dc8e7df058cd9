// Any bytes, decoded in all colour modes into memory of exactly the measured size, and turned upright.
#include <cstdlib>
#include <vector>

#include "headrace/codecs/exif.h"
#include "headrace/codecs/image.h"

using headrace::Color;

namespace {

constexpr int64_t kMaxPixels = 1 << 22;  // larger images only make the fuzzer slow

void decode(std::span<const std::byte> bytes, const headrace::ImageHeader& header, Color color) {
  if (!headrace::check_color(header, color).ok()) return;
  const int channels = headrace::decoded_channels(header, color);
  const auto row = static_cast<size_t>(header.width * channels);
  std::vector<uint8_t> pixels(row * static_cast<size_t>(header.height)), upright(pixels.size());
  headrace::Scratch scratch;
  if (!headrace::decode_image(bytes, header, color, header.whole(), pixels.data(), row, scratch).ok()) return;
  headrace::apply_orientation(pixels.data(), header.height, header.width, channels, header.orientation,
                              upright.data());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto header = headrace::read_image_header(bytes);
  if (!header.ok() || header->height * header->width > kMaxPixels) return 0;
  for (const Color color : {Color::rgb, Color::gray, Color::unchanged, Color::index})
    decode(bytes, *header, color);
  return 0;
}
