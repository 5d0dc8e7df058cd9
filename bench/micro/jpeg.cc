// Decoding the photographs of $HEADRACE_DATA/imagenet1k, a round over all of them: our decoder beside
// libjpeg-turbo, whole images and the crops of ImageNet training. Compare within one run.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "headrace/codecs/jpeg/baseline.h"
#include "headrace/codecs/jpeg/turbo.h"
#include "headrace/ops/crop_box.h"

namespace headrace {
namespace {

struct Photograph {
  std::string bytes;
  ImageHeader header;
  Box crop;
};

std::vector<Photograph> read_photographs() {
  std::vector<Photograph> photographs;
  const char* root = std::getenv("HEADRACE_DATA");
  if (!root) return photographs;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(std::filesystem::path(root) / "imagenet1k")) {
    std::ifstream file(entry.path(), std::ios::binary);
    Photograph photograph{{std::istreambuf_iterator<char>(file), {}}, {}, {}};
    const auto header = read_image_header(std::as_bytes(std::span(photograph.bytes)));
    if (!header.ok() || header->format != ImageFormat::jpeg || header->channels != 3) continue;
    photograph.header = *header;
    photograph.crop =
        sample_crop_box(header->height, header->width, {}, Key(1, 0, {photographs.size(), 0, 0, 0, 0}));
    photographs.push_back(std::move(photograph));
  }
  return photographs;
}

void decode_all(benchmark::State& state, bool ours, bool whole) {
  static const std::vector<Photograph> photographs = read_photographs();
  if (photographs.empty()) return state.SkipWithError("wants HEADRACE_DATA with imagenet1k");
  Scratch scratch;
  std::vector<uint8_t> out;
  size_t left = 0;
  for (auto _ : state)
    for (const Photograph& p : photographs) {
      const auto row = static_cast<size_t>(p.header.width * 3);
      out.resize(std::max(out.size(), row * static_cast<size_t>(p.header.height)));
      const auto bytes = std::as_bytes(std::span(p.bytes));
      const Box part = whole ? p.header.whole() : p.crop;
      if (ours)
        left += !jpeg::decode_baseline(bytes, p.header, Color::rgb, part, out.data(), row, scratch);
      else
        left += !jpeg::decode_with_turbo(bytes, p.header, Color::rgb, part, out.data(), row, scratch).ok();
      benchmark::DoNotOptimize(out.data());
    }
  const auto images = static_cast<double>(state.iterations()) * static_cast<double>(photographs.size());
  state.counters["images"] =
      benchmark::Counter(images, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["left"] = static_cast<double>(left) / static_cast<double>(state.iterations());
}

const bool registered = [] {
  for (const bool whole : {true, false})
    for (const bool ours : {false, true})
      benchmark::RegisterBenchmark(
          (std::string("jpeg/") + (whole ? "whole/" : "crop/") + (ours ? "ours" : "turbo")).c_str(),
          [=](benchmark::State& state) { decode_all(state, ours, whole); })
          ->Unit(benchmark::kMillisecond);
  return true;
}();

}  // namespace
}  // namespace headrace
