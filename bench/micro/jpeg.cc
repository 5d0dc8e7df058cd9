// Decoding the photographs of $HEADRACE_DATA/imagenet1k, one round over all of them: our decoder and
// libjpeg-turbo, whole images and the crops of ImageNet training. Compare only within one run.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "headrace/codecs/jpeg/baseline.h"
#include "headrace/codecs/jpeg/planes.h"
#include "headrace/codecs/jpeg/turbo.h"
#include "headrace/kernels/affine.h"
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
    if (!header.ok() || image_format_name(*header) != "JPEG" || header->channels != 3) continue;
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

// Normalised to float32 CHW, as for ImageNet training.
class FloatPlanes : public RowSink {
 public:
  explicit FloatPlanes(float* out) : out_(out) {
    by_inverse_ = kernels::find_inverses({kMean, kStd, 3, 1.0f / 255}, inverse_);
  }
  void take(int64_t y, const uint8_t* const* planes) override {
    for (int c = 0; c < 3; ++c)
      kernels::apply({kMean + c, kStd + c, 1, 1.0f / 255, by_inverse_ ? inverse_ + c : nullptr}, planes[c],
                     kSide, out_ + (c * kSide + y) * kSide);
  }
  static constexpr int64_t kSide = 224;

 private:
  static constexpr float kMean[3] = {0.485f, 0.456f, 0.406f}, kStd[3] = {0.229f, 0.224f, 0.225f};
  float* out_;
  float inverse_[3];
  bool by_inverse_;
};

class Nothing : public RowSink {
  void take(int64_t, const uint8_t* const*) override {}
};

// `step`: MCUs between entropy points, 0 for one point per row; -1: no points.
void resample_all(benchmark::State& state, bool eval, bool normalise, int64_t step) {
  static const std::vector<Photograph> photographs = read_photographs();
  if (photographs.empty()) return state.SkipWithError("wants HEADRACE_DATA with imagenet1k");
  Scratch scratch;
  std::vector<EntropyPoints> points;
  for (const Photograph& p : photographs)
    points.push_back(step < 0 ? EntropyPoints{}
                              : jpeg::find_points(std::as_bytes(std::span(p.bytes)), step, scratch));
  std::vector<float> out(3 * FloatPlanes::kSide * FloatPlanes::kSide);
  FloatPlanes floats(out.data());
  Nothing nothing;
  RowSink* const sink = normalise ? static_cast<RowSink*>(&floats) : &nothing;
  size_t left = 0;
  for (auto _ : state)
    for (size_t i = 0; i < photographs.size(); ++i) {
      const Photograph& p = photographs[i];
      Resampled picture{p.crop, 224, 224, {0, 0, 224, 224}};
      if (eval) {
        const int64_t shorter = std::min(p.header.height, p.header.width);
        picture.from = p.header.whole();
        picture.height = 256 * p.header.height / shorter, picture.width = 256 * p.header.width / shorter;
        picture.window = {(picture.height - 224) / 2, (picture.width - 224) / 2, 224, 224};
      }
      const auto bytes = std::as_bytes(std::span(p.bytes));
      left += !*jpeg::resample_planes(bytes, p.header, Color::rgb, {&picture, 1}, {&sink, 1}, points[i],
                                      nullptr, scratch);
      benchmark::DoNotOptimize(out.data());
    }
  const auto images = static_cast<double>(state.iterations()) * static_cast<double>(photographs.size());
  state.counters["images"] =
      benchmark::Counter(images, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
  state.counters["left"] = static_cast<double>(left) / static_cast<double>(state.iterations());
}

const bool registered = [] {
  for (const bool eval : {false, true})
    for (const bool normalise : {false, true})
      for (const auto& [points, step] :
           {std::pair("", -1), std::pair("/row_points", 0), std::pair("/8_mcu_points", 8)})
        benchmark::RegisterBenchmark(
            (std::string("jpeg/") + (eval ? "eval" : "train") + (normalise ? "/f32" : "/rows") + points)
                .c_str(),
            [=](benchmark::State& state) { resample_all(state, eval, normalise, step); })
            ->Unit(benchmark::kMillisecond);
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
