#include "headrace/kernels/idct_reduced.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "headrace/kernels/idct_testing.h"
#include "headrace/kernels/targets.h"

namespace headrace::kernels {
namespace {

constexpr int kSides[] = {4, 2, 1};
constexpr int16_t kUntouched = -7;

struct Strip {
  std::array<int16_t, 8 * kStripRows> first, second;
  Strip() { first.fill(kUntouched), second.fill(kUntouched); }
  bool operator==(const Strip&) const = default;
};

Strip transform(const Input& in, int side, bool scalar) {
  Strip out;
  (scalar ? idct_pair_reduced_scalar : idct_pair_reduced)(side, in.coefficients.data(), in.quant.data(),
                                                          out.first.data(), out.second.data());
  return out;
}

TEST(IdctReduced, EveryTargetEqualsTheScalarTwin) {
  std::mt19937 random(5);
  for (const int side : kSides)
    for (const int most : {1, 30, 1000, 32767})
      for (const double share : {0.02, 0.3, 1.0})
        for (int round = 0; round < 30; ++round) {
          const Input in = random_input(random, most, share, most > 1000 ? 65535 : 40);
          const Strip expected = transform(in, side, true);
          on_each_simd_target([&](const std::string& target) {
            EXPECT_TRUE(transform(in, side, false) == expected)
                << target << ", " << side << ", up to " << most;
          });
        }
}

TEST(IdctReduced, WritesItsSamplesAndNoOther) {
  for (const int side : kSides) {
    const Strip out = transform(Input(), side, false);
    for (int x = 0; x < 8; ++x)
      for (int y = 0; y < kStripRows; ++y) {
        const bool is_sample = x < side && y < side;
        EXPECT_EQ(out.first[static_cast<size_t>(kStripRows * x + y)],
                  is_sample ? 128 << kSampleBits : kUntouched);
      }
    EXPECT_EQ(out.first, out.second);
  }
}

// The mean of pixels, in floating point.
double exact(const Input& in, size_t block, int side, int y, int x) {
  const int size = 8 / side;
  double sum = 0;
  for (int v = 0; v < 8; ++v)
    for (int u = 0; u < 8; ++u) {
      const size_t at = static_cast<size_t>(kPairStride * v + u) + 8 * block;
      const double half = std::numbers::sqrt2 / 2, scale = (u == 0 ? half : 1) * (v == 0 ? half : 1) / 4;
      double down = 0, across = 0;
      for (int i = 0; i < size; ++i) {
        down += std::cos((2 * (y * size + i) + 1) * v * std::numbers::pi / 16) / size;
        across += std::cos((2 * (x * size + i) + 1) * u * std::numbers::pi / 16) / size;
      }
      sum += scale * in.coefficients[at] * in.quant[at] * down * across;
    }
  return std::min(255.0, std::max(0.0, sum + 128));
}

TEST(IdctReduced, ASampleIsTheMeanOfItsPixels) {
  std::mt19937 random(6);
  for (const int side : kSides)
    for (int round = 0; round < 40; ++round) {
      const Input in = random_input(random, 8, 0.2, 20);
      const Strip out = transform(in, side, false);
      for (int y = 0; y < side; ++y)
        for (int x = 0; x < side; ++x) {
          const auto at = static_cast<size_t>(kStripRows * x + y);
          EXPECT_NEAR(out.first[at] / 128.0, exact(in, 0, side, y, x), 0.1);
          EXPECT_NEAR(out.second[at] / 128.0, exact(in, 1, side, y, x), 0.1);
        }
    }
}

TEST(IdctReduced, ABlockOfOneCoefficientEqualsTheWholeTransform) {
  for (const int side : kSides)
    for (int value = -1200; value <= 1200; value += 7) {
      Input in;
      in.coefficients[0] = static_cast<int16_t>(value);
      in.quant.fill(3);
      Strip short_cut = transform(in, side, true);
      const Strip whole = short_cut;
      short_cut.first.fill(kUntouched);
      idct_dc_reduced(side, value, 3, short_cut.first.data());
      EXPECT_EQ(short_cut.first, whole.first) << side << ", " << value;
    }
}

}  // namespace
}  // namespace headrace::kernels
