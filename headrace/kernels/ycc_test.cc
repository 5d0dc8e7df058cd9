#include "headrace/kernels/ycc.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "headrace/kernels/targets.h"

namespace headrace::kernels {
namespace {

using Row = std::vector<uint8_t>;

Row random_row(size_t size, unsigned seed) {
  std::mt19937 random(seed);
  Row row(size);
  for (uint8_t& v : row) v = static_cast<uint8_t>(random());
  return row;
}

TEST(Ycc, StretchesARow) {
  const Row in{0, 100, 200};
  Row out(6);
  upsample_h2(in.data(), 3, out.data());
  EXPECT_EQ(out, (Row{0, 25, 75, 125, 175, 200}));
}

TEST(Ycc, EveryTargetStretchesAsTheScalarTwin) {
  for (size_t width = 1; width < 150; ++width) {
    const Row near = random_row(width, 1), far = random_row(width, 2);
    Row expected(2 * width), expected2(2 * width);
    upsample_h2_scalar(near.data(), static_cast<int64_t>(width), expected.data());
    upsample_h2v2_scalar(near.data(), far.data(), static_cast<int64_t>(width), expected2.data());
    on_each_simd_target([&](const std::string& target) {
      Row out(2 * width);
      upsample_h2(near.data(), static_cast<int64_t>(width), out.data());
      EXPECT_EQ(out, expected) << target << ", width " << width;
      upsample_h2v2(near.data(), far.data(), static_cast<int64_t>(width), out.data());
      EXPECT_EQ(out, expected2) << target << ", width " << width;
    });
  }
}

TEST(Ycc, EveryTargetConvertsEveryColourAsTheScalarTwin) {
  Row y, cb, cr;
  for (int a = 0; a < 256; a += 5)
    for (int b = 0; b < 256; ++b)
      for (int c = 0; c < 256; c += 3)
        y.push_back(static_cast<uint8_t>(a)), cb.push_back(static_cast<uint8_t>(b)),
            cr.push_back(static_cast<uint8_t>(c));
  const auto count = static_cast<int64_t>(y.size());
  Row expected(3 * y.size());
  ycc_to_rgb_scalar(y.data(), cb.data(), cr.data(), count, expected.data());
  EXPECT_EQ(expected[0], 0);
  on_each_simd_target([&](const std::string& target) {
    Row out(3 * y.size());
    ycc_to_rgb(y.data(), cb.data(), cr.data(), count, out.data());
    EXPECT_TRUE(out == expected) << target;
  });
}

TEST(Ycc, EveryTargetConvertsRowsOfEveryLength) {
  for (size_t width = 0; width < 300; ++width) {
    const Row y = random_row(width, 1), cb = random_row(width, 2), cr = random_row(width, 3);
    Row expected(3 * width);
    ycc_to_rgb_scalar(y.data(), cb.data(), cr.data(), static_cast<int64_t>(width), expected.data());
    on_each_simd_target([&](const std::string& target) {
      Row out(3 * width);
      ycc_to_rgb(y.data(), cb.data(), cr.data(), static_cast<int64_t>(width), out.data());
      EXPECT_EQ(out, expected) << target << ", width " << width;
    });
  }
}

TEST(Ycc, BlendsRowsVertically) {
  const Row near{10, 200}, far{20, 100};
  Row out(2);
  upsample_v2(near.data(), far.data(), 2, 1, out.data());
  EXPECT_EQ(out, (Row{12, 175}));
  upsample_v2(near.data(), far.data(), 2, 2, out.data());
  EXPECT_EQ(out, (Row{13, 175}));
}

TEST(Ycc, GreyStaysGrey) {
  const Row y{0, 1, 128, 255}, middle(4, 128);
  Row out(12);
  ycc_to_rgb(y.data(), middle.data(), middle.data(), 4, out.data());
  EXPECT_EQ(out, (Row{0, 0, 0, 1, 1, 1, 128, 128, 128, 255, 255, 255}));
}

}  // namespace
}  // namespace headrace::kernels
