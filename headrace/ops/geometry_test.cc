#include "headrace/ops/geometry.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

constexpr Sampling kBicubic{Interpolation::bicubic, false};

TEST(Geometry, BeforeTheResampleACropNarrowsWhatIsRead) {
  const Geometry cut = Geometry::of(100, 200).cropped({10, 20, 50, 60}).cropped({1, 2, 30, 40});
  EXPECT_EQ(cut.from, (Box{11, 22, 30, 40}));
  EXPECT_EQ(cut.shape(3), (Shape{30, 40, 3}));
  EXPECT_FALSE(cut.resampled);
}

TEST(Geometry, AfterItACropNarrowsTheWindow) {
  const Geometry cut = Geometry::of(100, 200).resized({50, 80}, kBicubic).cropped({5, 6, 7, 8});
  EXPECT_EQ(cut.from, (Box{0, 0, 100, 200}));
  EXPECT_EQ(cut.window, (Box{5, 6, 7, 8}));
  const Resampled picture = cut.picture();
  EXPECT_EQ(picture.height, 50);
  EXPECT_EQ(picture.width, 80);
  EXPECT_EQ(picture.interpolation, Interpolation::bicubic);
  EXPECT_FALSE(picture.antialias);
}

TEST(Geometry, AMirroredPictureIsCroppedFromTheRight) {
  const Geometry before = Geometry::of(10, 100).flipped().cropped({0, 10, 10, 30});
  EXPECT_EQ(before.from, (Box{0, 60, 10, 30}));
  const Geometry after = Geometry::of(10, 50).flipped().resized({10, 100}, {}).cropped({0, 10, 10, 30});
  EXPECT_EQ(after.window, (Box{0, 60, 10, 30}));
  EXPECT_TRUE(after.picture().mirrored);
  EXPECT_FALSE(after.flipped().mirrored);
}

TEST(Geometry, TravelsAsATensor) {
  const Geometry geometry = Geometry::of(10, 20).cropped({1, 2, 3, 4}).resized({7, 8}, kBicubic).flipped();
  std::vector<std::byte> bytes(geometry_spec().size_bytes());
  const MutView view{DType::u8, geometry_spec().shape, bytes.data()};
  write_geometry(geometry, view);
  EXPECT_EQ(read_geometry(view).from, (Box{1, 2, 3, 4}));
  EXPECT_EQ(read_geometry(view).grid_width, 8);
  EXPECT_TRUE(read_geometry(view).mirrored);
}

// What place() of a cropping or resizing operator returns is what run() does to the pixels.
TEST(Geometry, EveryOperatorPlacesWhatItRuns) {
  const std::pair<const char*, Value::Object> cases[] = {
      {"center_crop", {{"size", 7}}},
      {"random_crop", {{"size", Value::List{9, 5}}}},
      {"random_flip", {{"p", 0.5}}},
      {"resize", {{"size", 11}}},
      {"resize", {{"size", Value::List{9, 5}}}},
      {"random_resize", {{"shorter", Value::List{5, 30}}}},
      {"random_resized_crop", {{"size", Value::List{6, 8}}, {"interpolation", "bicubic"}}}};
  constexpr int64_t kHeight = 13, kWidth = 16;
  std::vector<uint8_t> pixels(kHeight * kWidth);
  for (size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = static_cast<uint8_t>(i);  // each value names its position
  const View image{DType::u8, {kHeight, kWidth, 1}, reinterpret_cast<const std::byte*>(pixels.data())};
  Scratch scratch;
  for (const auto& [name, params] : cases)
    for (uint32_t draw = 0; draw < 50; ++draw) {
      const OpPtr op = *make_op(name, params);
      const Key key(7, draw, {});
      CallContext call(scratch, key);
      const Geometry placed = *op->place(Geometry::of(kHeight, kWidth), {}, key);
      ASSERT_EQ(placed.resampled, op->placing() == Placing::resamples) << name;
      Shape shape = (*op->infer(std::vector{image.spec()}))[0].shape;
      ASSERT_TRUE(op->measure({&image, 1}, {&shape, 1}, call).ok()) << name;
      EXPECT_EQ(placed.shape(1), shape) << name;
      std::vector<uint8_t> out(static_cast<size_t>(shape.count())), expected(out.size());
      const MutView view{DType::u8, shape, reinterpret_cast<std::byte*>(out.data())};
      ASSERT_TRUE(op->run({&image, 1}, {&view, 1}, call).ok()) << name;
      if (placed.resampled) {
        const MutView other{DType::u8, shape, reinterpret_cast<std::byte*>(expected.data())};
        const Sampling sampling{placed.interpolation, placed.antialias};
        ASSERT_TRUE(resize_box(image, placed.from, sampling, other, scratch).ok()) << name;
      } else {
        for (int64_t y = 0; y < shape[0]; ++y)
          for (int64_t x = 0; x < shape[1]; ++x) {
            const int64_t column = placed.from.x + (placed.mirrored ? shape[1] - 1 - x : x);
            expected[static_cast<size_t>(y * shape[1] + x)] =
                pixels[static_cast<size_t>((placed.from.y + y) * kWidth + column)];
          }
      }
      EXPECT_EQ(out, expected) << name << ", draw " << draw;
    }
}

TEST(Geometry, NearestAndOtherOperatorsHaveNoPlace) {
  EXPECT_EQ((*make_op("resize", Value::Object{{"size", 5}, {"interpolation", "nearest"}}))->placing(),
            Placing::none);
  const OpPtr normalize = *make_op("normalize", {});
  EXPECT_EQ(normalize->placing(), Placing::none);
  EXPECT_FALSE(normalize->place(Geometry::of(1, 1), {}, {}).ok());
}

}  // namespace
}  // namespace headrace
