// PNG by libpng, by libspng and through decode_image: photographs of $HEADRACE_DATA/imagenet1k, written with
// libpng's usual settings (level 6, filters by its heuristic), decoded to RGB.
//
//   HEADRACE_DATA=... build/release/bench/micro/headrace_micro --benchmark_filter=png
#include <benchmark/benchmark.h>
#include <png.h>
#include <spng.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "headrace/codecs/image.h"

namespace headrace {
namespace {

using Bytes = std::vector<uint8_t>;

constexpr size_t kPhotographs = 40;

struct Picture {
  Bytes png;
  size_t pixels = 0;
};

// Null if it is not a colour photograph.
Picture from_jpeg(const std::vector<char>& jpeg) {
  const auto bytes = std::as_bytes(std::span(jpeg));
  const auto header = read_image_header(bytes);
  if (!header.ok() || header->channels != 3) return {};
  const auto row = static_cast<size_t>(header->width * 3);
  Bytes pixels(row * static_cast<size_t>(header->height));
  Scratch scratch;
  if (!decode_image(bytes, *header, Color::rgb, header->whole(), pixels.data(), row, scratch).ok()) return {};
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(header->width),
  image.height = static_cast<png_uint_32>(header->height);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = 0;
  png_image_write_to_memory(&image, nullptr, &size, 0, pixels.data(), 0, nullptr);
  Picture picture{Bytes(size), pixels.size() / 3};
  png_image_write_to_memory(&image, picture.png.data(), &size, 0, pixels.data(), 0, nullptr);
  picture.png.resize(size);
  return picture;
}

const std::vector<Picture>& pictures() {
  static const std::vector<Picture> all = [] {
    std::vector<Picture> found;
    const char* root = std::getenv("HEADRACE_DATA");
    if (!root) return found;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(std::filesystem::path(root) / "imagenet1k")) {
      if (!entry.is_regular_file() || found.size() == kPhotographs) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      Picture picture = from_jpeg({std::istreambuf_iterator<char>(file), {}});
      if (picture.pixels > 0) found.push_back(std::move(picture));
    }
    return found;
  }();
  return all;
}

bool by_libpng(const Bytes& file, Bytes& out) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_memory(&image, file.data(), file.size())) return false;
  image.format = PNG_FORMAT_RGB;
  return png_image_finish_read(&image, nullptr, out.data(), 0, nullptr);
}

bool by_libspng(const Bytes& file, Bytes& out) {
  spng_ctx* context = spng_ctx_new(0);
  spng_set_png_buffer(context, file.data(), file.size());
  size_t size = 0;
  spng_decoded_image_size(context, SPNG_FMT_RGB8, &size);
  const int error = spng_decode_image(context, out.data(), size, SPNG_FMT_RGB8, 0);
  spng_ctx_free(context);
  return error == 0;
}

bool by_headrace(const Bytes& file, Bytes& out) {
  const auto bytes = std::as_bytes(std::span(file));
  const auto header = read_image_header(bytes);
  Scratch scratch;
  return header.ok() && decode_image(bytes, *header, Color::rgb, header->whole(), out.data(),
                                     static_cast<size_t>(header->width * 3), scratch)
                            .ok();
}

void decode(benchmark::State& state, bool (*by)(const Bytes&, Bytes&)) {
  size_t most = 0;
  for (const Picture& picture : pictures()) most = std::max(most, picture.pixels);
  if (most == 0) return state.SkipWithError("wants photographs below $HEADRACE_DATA/imagenet1k");
  Bytes out(most * 3);
  for (auto _ : state)
    for (const Picture& picture : pictures())
      if (!by(picture.png, out)) return state.SkipWithError("a picture is not decoded");
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(pictures().size()));
}

BENCHMARK_CAPTURE(decode, png_libpng, by_libpng)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decode, png_libspng, by_libspng)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(decode, png_headrace, by_headrace)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace headrace
