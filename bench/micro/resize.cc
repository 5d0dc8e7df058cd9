// The cost of one ImageNet sample after decoding: crop and resize to 224 x 224, then normalize to float32
// CHW. One benchmark per SIMD target. Pillow's own resize of the same image:
//   python -m timeit -s "from PIL import Image; i = Image.new('RGB', (300, 280))" "i.resize((224, 224), 2)"
#include "headrace/kernels/resize.h"

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "headrace/kernels/normalize.h"
#include "headrace/kernels/targets.h"

namespace headrace::kernels {
namespace {

constexpr int64_t kImageWidth = 500, kImageHeight = 375, kSide = 224, kChannels = 3;

std::vector<uint8_t> noise(int64_t size) {
  std::vector<uint8_t> values(static_cast<size_t>(size));
  uint32_t state = 1;
  for (uint8_t& value : values) value = static_cast<uint8_t>((state = state * 1664525 + 1013904223) >> 24);
  return values;
}

void resize_crop(benchmark::State& state, const std::string& target, const Resize& resize) {
  const std::vector<uint8_t> image = noise(kImageWidth * kImageHeight * kChannels);
  std::vector<uint8_t> out(kSide * kSide * kChannels);
  std::vector<std::byte> memory(resize_scratch_bytes(resize) + 64);
  std::byte* scratch = memory.data() + (64 - reinterpret_cast<uintptr_t>(memory.data()) % 64);
  force_simd_target(target);
  for (auto _ : state) {
    resize_u8(resize, image.data(), kImageWidth * kChannels, out.data(), kSide * kChannels, scratch);
    benchmark::DoNotOptimize(out.data());
  }
  force_simd_target("");
}

void normalize_planar(benchmark::State& state, const std::string& target, DType dtype, bool mirrored) {
  const std::vector<uint8_t> image = noise(kSide * kSide * kChannels);
  const float mean[] = {0.485f, 0.456f, 0.406f}, std[] = {0.229f, 0.224f, 0.225f};
  const Normalize job{kSide, kSide, kChannels, mean, std, 1.0f / 255, dtype, true, mirrored};
  std::vector<std::byte> out(image.size() * size_of(dtype));
  force_simd_target(target);
  for (auto _ : state) {
    normalize(job, image.data(), kSide * kChannels, out.data());
    benchmark::DoNotOptimize(out.data());
  }
  force_simd_target("");
}

const bool registered = [] {
  const std::pair<const char*, Resize> crops[] = {
      {"280x300_bilinear", {280, 300, kSide, kSide, kChannels, Interpolation::bilinear, true}},
      {"300x280_bilinear", {300, 280, kSide, kSide, kChannels, Interpolation::bilinear, true}},
      {"280x300_bicubic", {280, 300, kSide, kSide, kChannels, Interpolation::bicubic, true}},
      {"160x180_bilinear", {160, 180, kSide, kSide, kChannels, Interpolation::bilinear, true}},
      {"375x500_bilinear", {375, 500, kSide, kSide, kChannels, Interpolation::bilinear, true}}};
  for (const std::string& target : simd_targets()) {
    for (const auto& [name, resize] : crops)
      benchmark::RegisterBenchmark(
          ("resize/" + std::string(name) + "/" + target).c_str(),
          [target, resize = resize](benchmark::State& s) { resize_crop(s, target, resize); })
          ->Unit(benchmark::kMicrosecond);
    for (DType dtype : {DType::f32, DType::f16})
      for (bool mirrored : {false, true})
        benchmark::RegisterBenchmark(
            ("normalize/" + std::string(dtype_name(dtype)) + (mirrored ? "_mirrored/" : "/") + target)
                .c_str(),
            [=](benchmark::State& s) { normalize_planar(s, target, dtype, mirrored); })
            ->Unit(benchmark::kMicrosecond);
  }
  return true;
}();

}  // namespace
}  // namespace headrace::kernels
