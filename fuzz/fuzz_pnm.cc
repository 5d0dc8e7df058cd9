// PNM and PFM: any bytes after the magic. A header within the limits or an error; what is decoded as stored
// is decoded in 8 bits too; a part equals that part of the whole.
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "headrace/codecs/image.h"

using headrace::Box;
using headrace::Color;
using headrace::DType;
using headrace::ImageHeader;

namespace {

constexpr int64_t kMaxPixels = 1 << 20;

struct Decoded {
  bool ok = false;
  std::vector<std::byte> pixels;
};

Decoded decode(std::span<const std::byte> bytes, const ImageHeader& header, Color color, DType dtype,
               const Box& part) {
  const size_t row = static_cast<size_t>(header.width * headrace::decoded_channels(header, color)) *
                     headrace::size_of(dtype);
  Decoded out{false, std::vector<std::byte>(row * static_cast<size_t>(header.height))};
  headrace::Scratch scratch;
  out.ok = headrace::decode_samples(bytes, header, color, dtype, part, out.pixels.data(), row, scratch).ok();
  return out;
}

void check(std::span<const std::byte> bytes, const ImageHeader& header, Color color, DType dtype) {
  if (!headrace::check_color(header, color).ok() || !headrace::gives_samples(header, color, dtype)) return;
  const Decoded whole = decode(bytes, header, color, dtype, header.whole());
  if (!whole.ok) return;
  if (!decode(bytes, header, color, DType::u8, header.whole()).ok) std::abort();
  const int64_t y = header.height / 3, x = header.width / 2;
  const Box part{y, x, header.height - y, header.width - x};
  const Decoded cut = decode(bytes, header, color, dtype, part);
  if (!cut.ok) std::abort();
  const size_t pixel =
      static_cast<size_t>(headrace::decoded_channels(header, color)) * headrace::size_of(dtype);
  for (int64_t row = part.y; row < part.bottom(); ++row) {
    const size_t at = static_cast<size_t>(row * header.width + x) * pixel;
    if (std::memcmp(cut.pixels.data() + at, whole.pixels.data() + at, static_cast<size_t>(part.w) * pixel))
      std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string file = "P";
  file.append(reinterpret_cast<const char*>(data), size);
  const auto bytes = std::as_bytes(std::span(file));
  const auto header = headrace::read_image_header(bytes);
  if (!header.ok()) {
    if (header.status().text().empty()) std::abort();
    return 0;
  }
  if (header->height * header->width > kMaxPixels) return 0;
  for (const Color color : {Color::rgb, Color::gray, Color::unchanged, Color::index})
    for (const DType dtype : {DType::u8, DType::u16, DType::f32}) check(bytes, *header, color, dtype);
  return 0;
}
