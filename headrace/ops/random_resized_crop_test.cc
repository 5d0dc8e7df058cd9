#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "headrace/ops/crop_box.h"
#include "headrace/ops/op.h"

namespace headrace {
namespace {

constexpr int64_t kHeight = 375, kWidth = 500;

// torchvision's rule reimplemented, with another generator.
Box reference_box(int64_t height, int64_t width, const CropRange& range, std::mt19937_64& random) {
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution(low, high)(random);
  };
  for (int i = 0; i < 10; ++i) {
    const double area = static_cast<double>(height * width) * uniform(range.scale[0], range.scale[1]);
    const double ratio = std::exp(uniform(std::log(range.ratio[0]), std::log(range.ratio[1])));
    const auto w = std::lround(std::sqrt(area * ratio)), h = std::lround(std::sqrt(area / ratio));
    if (w > 0 && w <= width && h > 0 && h <= height)
      return {std::uniform_int_distribution<int64_t>(0, height - h)(random),
              std::uniform_int_distribution<int64_t>(0, width - w)(random), h, w};
  }
  return {0, 0, height, width};
}

struct Moments {
  double mean = 0, error = 0;  // error: standard error of the mean
};

Moments moments(const std::vector<Box>& boxes, const std::function<double(const Box&)>& of) {
  double sum = 0, squares = 0;
  const auto n = static_cast<double>(boxes.size());
  for (const Box& box : boxes) sum += of(box), squares += of(box) * of(box);
  const double variance = squares / n - sum / n * (sum / n);
  return {sum / n, std::sqrt(variance / n)};
}

TEST(Box, MomentsAreThoseOfTheRule) {
  std::vector<Box> drawn, expected;
  std::mt19937_64 random(1);
  for (uint64_t index = 0; index < 100000; ++index) {
    drawn.push_back(sample_crop_box(kHeight, kWidth, {}, Key(11, 2, {.index = index})));
    expected.push_back(reference_box(kHeight, kWidth, {}, random));
  }
  const std::pair<const char*, std::function<double(const Box&)>> quantities[] = {
      {"area", [](const Box& b) { return static_cast<double>(b.h * b.w); }},
      {"squared area", [](const Box& b) { return std::pow(static_cast<double>(b.h * b.w), 2); }},
      {"log ratio",
       [](const Box& b) { return std::log(static_cast<double>(b.w) / static_cast<double>(b.h)); }},
      {"squared log ratio",
       [](const Box& b) {
         return std::pow(std::log(static_cast<double>(b.w) / static_cast<double>(b.h)), 2);
       }},
      {"x of the centre", [](const Box& b) { return static_cast<double>(2 * b.x + b.w); }},
      {"y of the centre", [](const Box& b) { return static_cast<double>(2 * b.y + b.h); }},
      {"x", [](const Box& b) { return static_cast<double>(b.x); }},
      {"y", [](const Box& b) { return static_cast<double>(b.y); }}};
  for (const auto& [name, of] : quantities) {
    const Moments a = moments(drawn, of), b = moments(expected, of);
    EXPECT_NEAR(a.mean, b.mean, 4 * std::hypot(a.error, b.error)) << name;
  }
}

TEST(Box, EveryBoxLiesInTheImage) {
  for (uint64_t index = 0; index < 10000; ++index) {
    const auto height = static_cast<int64_t>(index % 37 + 1), width = static_cast<int64_t>(index % 11 + 1);
    const Box box = sample_crop_box(height, width, {}, Key(5, 0, {.index = index}));
    ASSERT_TRUE(box.h >= 1 && box.w >= 1 && box.y >= 0 && box.x >= 0) << index;
    ASSERT_TRUE(box.y + box.h <= height && box.x + box.w <= width) << index;
  }
}

TEST(Box, FallsBackToTheLargestCentredWindow) {
  const CropRange whole{{1.0, 1.0}, {0.75, 4.0 / 3.0}};
  EXPECT_EQ(sample_crop_box(100, 1000, whole, Key()), (Box{0, 433, 100, 133}));
  EXPECT_EQ(sample_crop_box(1000, 90, whole, Key()), (Box{440, 0, 120, 90}));
}

TEST(RandomResizedCrop, EqualsResizeOfTheWindowAlone) {
  std::vector<uint8_t> pixels(40 * 60 * 3), out(16 * 12 * 3), expected(out.size()), window;
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<uint8_t>(i * i / 7);
  const Key key(1, 0, {.index = 9});
  const Box box = sample_crop_box(40, 60, {}, key);
  for (int64_t y = box.y; y < box.y + box.h; ++y) {
    const uint8_t* row = pixels.data() + (y * 60 + box.x) * 3;
    window.insert(window.end(), row, row + box.w * 3);
  }
  const Value size(Value::Object{{"size", Value::List{16, 12}}});
  Scratch scratch;
  CallContext call(scratch, key);
  const View image{DType::u8, {40, 60, 3}, reinterpret_cast<const std::byte*>(pixels.data())};
  const View cut{DType::u8, {box.h, box.w, 3}, reinterpret_cast<const std::byte*>(window.data())};
  const MutView out_view{DType::u8, {16, 12, 3}, reinterpret_cast<std::byte*>(out.data())};
  const MutView expected_view{DType::u8, {16, 12, 3}, reinterpret_cast<std::byte*>(expected.data())};
  ASSERT_TRUE((*make_op("random_resized_crop", size))->run({&image, 1}, {&out_view, 1}, call).ok());
  ASSERT_TRUE((*make_op("resize", size))->run({&cut, 1}, {&expected_view, 1}, call).ok());
  EXPECT_EQ(out, expected);
}

TEST(RandomResizedCrop, SaysWhatItWants) {
  const auto refusal = [](std::string_view json) {
    return std::string(make_op("random_resized_crop", *Value::parse(json)).status().text());
  };
  EXPECT_EQ(refusal(R"({"size": 8, "scale": [0.0, 1.0]})"),
            "random_resized_crop: scale must be (least, greatest) above 0 and up to 1, got [0.0,1.0]");
  EXPECT_EQ(refusal(R"({"size": 8, "ratio": [2.0, 1.0]})"),
            "random_resized_crop: ratio must be (least, greatest) from 0.0001 to 10000, got [2.0,1.0]");
}

}  // namespace
}  // namespace headrace
