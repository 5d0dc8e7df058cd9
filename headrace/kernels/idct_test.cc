#include "headrace/kernels/idct.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <random>

#include "headrace/kernels/idct_testing.h"
#include "headrace/kernels/targets.h"

namespace headrace::kernels {
namespace {

struct Output {
  std::array<uint8_t, 64> first{}, second{};
  bool plain = false;
  bool operator==(const Output&) const = default;
};

Output full_transform(const Input& in, bool scalar) {
  Output out;
  out.plain = (scalar ? idct_pair_scalar : idct_pair)(in.coefficients.data(), in.quant.data(),
                                                      out.first.data(), out.second.data(), 8);
  return out;
}

TEST(Idct, EveryTargetEqualsTheScalarTwin) {
  std::mt19937 random(5);
  for (const int most : {1, 30, 1000, 32767})
    for (const double share : {0.02, 0.3, 1.0})
      for (int round = 0; round < 50; ++round) {
        const Input in = random_input(random, most, share, most > 1000 ? 65535 : 40);
        const Output expected = full_transform(in, true);
        on_each_simd_target([&](const std::string& target) {
          EXPECT_TRUE(full_transform(in, false) == expected) << target << ", values up to " << most;
        });
      }
}

TEST(Idct, ColumnsHoldThePixelsOfRows) {
  std::mt19937 random(7);
  for (const int most : {1, 30, 1000, 32767})
    for (int round = 0; round < 100; ++round) {
      const Input in = random_input(random, most, 0.3, most > 1000 ? 65535 : 40);
      const Output rows = full_transform(in, true);
      on_each_simd_target([&](const std::string& target) {
        std::array<int16_t, 8 * kStripRows> columns[2] = {};
        EXPECT_EQ(
            idct_pair_columns(in.coefficients.data(), in.quant.data(), columns[0].data(), columns[1].data()),
            rows.plain);
        for (int b = 0; b < 2; ++b)
          for (size_t y = 0; y < 8; ++y)
            for (size_t x = 0; x < 8; ++x)
              ASSERT_EQ(columns[b][kStripRows * x + y],
                        (b == 0 ? rows.first : rows.second)[8 * y + x] << kSampleBits)
                  << target;
      });
    }
}

// The definition, in floating point.
double exact_pixels(const Input& in, size_t block, int y, int x) {
  double sum = 0;
  for (int v = 0; v < 8; ++v)
    for (int u = 0; u < 8; ++u) {
      const size_t at = static_cast<size_t>(kPairStride * v + u) + 8 * block;
      const double scale =
          (u == 0 ? std::numbers::sqrt2 / 2 : 1) * (v == 0 ? std::numbers::sqrt2 / 2 : 1) / 4;
      sum += scale * in.coefficients[at] * in.quant[at] * std::cos((2 * x + 1) * u * std::numbers::pi / 16) *
             std::cos((2 * y + 1) * v * std::numbers::pi / 16);
    }
  return std::min(255.0, std::max(0.0, sum + 128));
}

TEST(Idct, IsTheInverseCosineTransform) {
  std::mt19937 random(6);
  for (int round = 0; round < 20; ++round) {
    const Input in = random_input(random, 8, 0.2, 20);
    const Output out = full_transform(in, false);
    EXPECT_TRUE(out.plain);
    for (int y = 0; y < 8; ++y)
      for (int x = 0; x < 8; ++x) {
        const auto at = static_cast<size_t>(8 * y + x);
        EXPECT_NEAR(out.first[at], exact_pixels(in, 0, y, x), 1.0);
        EXPECT_NEAR(out.second[at], exact_pixels(in, 1, y, x), 1.0);
      }
  }
}

TEST(Idct, ABlockOfOneCoefficientEqualsTheWholeTransform) {
  for (int value = -1200; value <= 1200; value += 7) {
    Input in;
    in.coefficients[0] = static_cast<int16_t>(value);
    in.quant.fill(3);
    const Output whole = full_transform(in, true);
    std::array<uint8_t, 64> short_cut{};
    EXPECT_EQ(idct_dc(value, 3, short_cut.data(), 8), whole.plain);
    EXPECT_EQ(short_cut, whole.first) << value;
  }
}

TEST(Idct, SaysWhenAValueIsNoImage) {
  for (const int value : {-8192, -8191, 8191, 8192})
    for (const size_t at : {0u, 5u, 8u, 13u}) {  // of the first row of both blocks
      Input in;
      in.coefficients[at] = static_cast<int16_t>(value);
      in.quant.fill(1);
      on_each_simd_target([&](const std::string& target) {
        EXPECT_EQ(full_transform(in, false).plain, std::abs(value) < 8192)
            << target << " " << value << " " << at;
      });
    }
}

}  // namespace
}  // namespace headrace::kernels
