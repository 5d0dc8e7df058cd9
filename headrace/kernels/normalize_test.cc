#include "headrace/kernels/normalize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "headrace/kernels/affine.h"
#include "headrace/kernels/planes.h"
#include "headrace/kernels/targets.h"

namespace headrace::kernels {
namespace {

const float kPixelMean[] = {0.485f, 0.456f, 0.406f, 0.5f, 0.1f};
const float kPixelStd[] = {0.229f, 0.224f, 0.225f, 0.25f, 0.3f};

// By the definition: every number through its channel's table, one at a time.
std::vector<std::byte> looked_up(const Normalize& n, const std::vector<uint8_t>& in) {
  std::vector<std::byte> out(in.size() * size_of(n.dtype));
  for (int64_t c = 0; c < n.channels; ++c) {
    float table[256];
    normalize_table(n, c, table);
    for (int64_t y = 0; y < n.height; ++y)
      for (int64_t x = 0; x < n.width; ++x) {
        const int64_t from = (y * n.width + (n.mirrored ? n.width - 1 - x : x)) * n.channels + c;
        const float value = table[in[static_cast<size_t>(from)]];
        const int64_t to = n.planar ? (c * n.height + y) * n.width + x : (y * n.width + x) * n.channels + c;
        std::byte* target = out.data() + static_cast<size_t>(to) * size_of(n.dtype);
        const uint16_t f16 = f32_to_f16(value), bf16 = f32_to_bf16(value);
        const auto u8 = static_cast<uint8_t>(std::nearbyint(std::min(255.0f, std::max(0.0f, value))));
        const void* bits = n.dtype == DType::f16    ? static_cast<const void*>(&f16)
                           : n.dtype == DType::bf16 ? static_cast<const void*>(&bf16)
                           : n.dtype == DType::u8   ? static_cast<const void*>(&u8)
                                                    : &value;
        std::memcpy(target, bits, size_of(n.dtype));
      }
  }
  return out;
}

TEST(Normalize, EqualsTheTableInEveryDtypeLayoutAndTarget) {
  for (DType dtype : {DType::f32, DType::f16, DType::bf16, DType::u8})
    for (int64_t channels : {1, 2, 3, 4, 5})
      for (bool planar : {false, true})
        for (bool mirrored : {false, true}) {
          const Normalize n{3,          530,       channels,
                            kPixelMean, kPixelStd, dtype == DType::u8 ? 0.3f : 1.0f / 255,
                            dtype,      planar,    mirrored};
          std::vector<uint8_t> in(static_cast<size_t>(3 * 530 * channels));
          for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint8_t>(i * 37 + i / 256);
          const std::vector<std::byte> expected = looked_up(n, in);
          on_each_simd_target([&](const std::string& target) {
            std::vector<std::byte> out(expected.size());
            normalize(n, in.data(), 530 * channels, out.data());
            EXPECT_TRUE(out == expected) << target << ", dtype " << dtype_name(dtype) << ", channels "
                                         << channels << ", planar " << planar << ", mirrored " << mirrored;
          });
        }
}

// The larger size is stored past the caches: some of its rows are aligned, some are not.
TEST(Normalize, ARowOfPlanesIsThatRowOfTheImage) {
  for (DType dtype : {DType::f32, DType::f16, DType::bf16, DType::u8})
    for (int64_t channels : {1, 2, 3, 4})
      for (int64_t height : {2, 40})
        for (bool planar : {false, true}) {
          const int64_t width = 2100;
          const Normalize n{height,     width,     channels,
                            kPixelMean, kPixelStd, dtype == DType::u8 ? 0.3f : 1.0f / 255,
                            dtype,      planar};
          std::vector<uint8_t> planes(static_cast<size_t>(height * width * channels)), image(planes.size());
          for (size_t i = 0; i < planes.size(); ++i) planes[i] = static_cast<uint8_t>(i * 37 + i / 256);
          std::vector<std::vector<const uint8_t*>> rows(static_cast<size_t>(height));
          for (int64_t y = 0; y < height; ++y) {
            auto& row = rows[static_cast<size_t>(y)];
            for (int64_t c = 0; c < channels; ++c) row.push_back(planes.data() + (y * channels + c) * width);
            from_planes_scalar(row.data(), width, channels, image.data() + y * width * channels);
          }
          const std::vector<std::byte> expected = looked_up(n, image);
          on_each_simd_target([&](const std::string& target) {
            std::vector<std::byte> room(expected.size() + 64);
            std::byte* const out = room.data() + 64 - reinterpret_cast<uintptr_t>(room.data()) % 64;
            const RowNormalizer normalizer(n);
            for (int64_t y = 0; y < height; ++y) normalizer.row(rows[static_cast<size_t>(y)].data(), y, out);
            finish_streaming();
            EXPECT_TRUE(std::equal(expected.begin(), expected.end(), out))
                << target << dtype_name(dtype) << channels << planar << height;
          });
        }
}

TEST(Normalize, ReadsARegionRowByRow) {
  const uint8_t image[] = {10, 20, 99, 30, 40, 99};  // two rows of two pixels, and one more column
  const float mean[] = {0}, std[] = {1};
  float out[4];
  normalize({2, 2, 1, mean, std, 1.0f, DType::f32, true, true}, image, 3, reinterpret_cast<std::byte*>(out));
  EXPECT_EQ(std::vector<float>(out, out + 4), (std::vector<float>{20, 10, 40, 30}));
}

TEST(Normalize, FloatsAreScaledToo) {
  const float image[] = {1, 2, 3, 4}, mean[] = {1, 2}, std[] = {2, 4};
  float out[4];
  normalize({1, 2, 2, mean, std, 3.0f, DType::f32, true, false}, image, 4, reinterpret_cast<std::byte*>(out));
  EXPECT_EQ(std::vector<float>(out, out + 4), (std::vector<float>{1, 4, 1, 2.5f}));
}

}  // namespace
}  // namespace headrace::kernels
