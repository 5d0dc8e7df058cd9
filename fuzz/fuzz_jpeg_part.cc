// Our decoder of baseline JPEG compared with libjpeg-turbo: when ours succeeds, the other gives the same
// bytes, and a part of an image equals that part of the whole. The first eight bytes select the part and the
// colours.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "headrace/codecs/jpeg/baseline.h"
#include "headrace/codecs/jpeg/jpeg.h"
#include "headrace/codecs/jpeg/turbo.h"

using headrace::Box;
using headrace::Color;
using Bytes = std::span<const std::byte>;

namespace {

constexpr int64_t kMaxPixels = 1 << 20;  // larger images only slow the fuzzer down
constexpr size_t kChoices = 8;

// A place below `most` and a length up to what is left, from two bytes.
std::pair<int64_t, int64_t> side(const uint8_t* choice, int64_t most) {
  const int64_t at = most * choice[0] / 256;
  return {at, std::max<int64_t>(1, (most - at) * choice[1] / 255)};
}

bool same(const Box& box, int64_t width, int64_t channels, const std::vector<uint8_t>& a,
          const std::vector<uint8_t>& b) {
  for (int64_t y = box.y; y < box.bottom(); ++y) {
    const auto from = static_cast<std::ptrdiff_t>((y * width + box.x) * channels);
    const auto to = static_cast<std::ptrdiff_t>((y * width + box.right()) * channels);
    if (!std::equal(a.begin() + from, a.begin() + to, b.begin() + from)) return false;
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < kChoices) return 0;
  const auto bytes = std::as_bytes(std::span(data, size).subspan(kChoices));
  if (!headrace::is_jpeg(bytes)) return 0;
  const auto header = headrace::read_image_header(bytes);
  if (!header.ok() || header->height * header->width > kMaxPixels) return 0;
  const Color color = data[0] % 2 ? Color::rgb : Color::gray;
  const int channels = headrace::decoded_channels(*header, color);
  const auto row = static_cast<size_t>(header->width * channels);
  std::vector<uint8_t> ours(row * static_cast<size_t>(header->height)), part(ours.size(), data[1]),
      theirs(ours.size());
  headrace::Scratch scratch;
  const Box whole = header->whole();
  const auto [y, h] = side(data + 2, header->height);
  const auto [x, w] = side(data + 4, header->width);
  const Box box{y, x, h, w};
  const bool has_part =
      headrace::jpeg::decode_baseline(bytes, *header, color, box, part.data(), row, scratch);
  if (headrace::jpeg::decode_baseline(bytes, *header, color, whole, ours.data(), row, scratch)) {
    if (!headrace::jpeg::decode_with_turbo(bytes, *header, color, whole, theirs.data(), row, scratch).ok())
      std::abort();
    if (ours != theirs) std::abort();
    if (!has_part || !same(box, header->width, channels, part, ours)) std::abort();
  }
  return 0;
}
