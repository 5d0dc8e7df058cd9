#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "headrace/ops/op.h"

namespace headrace {
namespace {

OpPtr crop_of(std::string_view name, Value size) {
  const auto op = make_op(name, Value(Value::Object{{"size", std::move(size)}}));
  EXPECT_TRUE(op.ok()) << op.status().text();
  return *op;
}

template <class T> View view_of_crop(const std::vector<T>& pixels, const Shape& shape, DType dtype) {
  return {dtype, shape, reinterpret_cast<const std::byte*>(pixels.data())};
}
template <class T> MutView mutable_view_of(std::vector<T>& pixels, const Shape& shape, DType dtype) {
  return {dtype, shape, reinterpret_cast<std::byte*>(pixels.data())};
}

TEST(CenterCrop, CutsTheMiddle) {
  std::vector<uint8_t> image(4 * 5 * 2), window(2 * 3 * 2);
  std::iota(image.begin(), image.end(), uint8_t{0});
  const OpPtr op = crop_of("center_crop", Value::List{2, 3});
  const View in = view_of_crop(image, {4, 5, 2}, DType::u8);
  const MutView out = mutable_view_of(window, {2, 3, 2}, DType::u8);
  Scratch scratch;
  CallContext call(scratch);
  ASSERT_TRUE(op->run({&in, 1}, {&out, 1}, call).ok());
  EXPECT_EQ(window, (std::vector<uint8_t>{12, 13, 14, 15, 16, 17, 22, 23, 24, 25, 26, 27}));
}

TEST(CenterCrop, RoundsItsCornerToTheEvenPixelAsTorchvisionDoes) {
  // torchvision: int(round((width - 1) / 2)) for widths 1..8
  const std::vector<int> corners{0, 0, 1, 2, 2, 2, 3, 4};
  const OpPtr op = crop_of("center_crop", 1);
  for (size_t i = 0; i < corners.size(); ++i) {
    const auto width = static_cast<int64_t>(i) + 1;
    std::vector<uint8_t> row(i + 1), pixel(1);
    std::iota(row.begin(), row.end(), uint8_t{0});
    const View in = view_of_crop(row, {1, width}, DType::u8);
    const MutView out = mutable_view_of(pixel, {1, 1}, DType::u8);
    Scratch scratch;
    CallContext call(scratch);
    ASSERT_TRUE(op->run({&in, 1}, {&out, 1}, call).ok());
    EXPECT_EQ(pixel[0], corners[i]) << "width " << width;
  }
}

TEST(RandomCrop, ImageAndMaskAreCutAtTheSamePlaceAndEveryPlaceComesUp) {
  const OpPtr op = crop_of("random_crop", 2);
  std::vector<uint8_t> image(12);
  std::vector<int32_t> mask(12);
  std::iota(image.begin(), image.end(), uint8_t{0});
  std::iota(mask.begin(), mask.end(), 0);
  std::set<int> corners;
  for (uint64_t index = 0; index < 200; ++index) {
    std::vector<uint8_t> image_out(4);
    std::vector<int32_t> mask_out(4);
    const View in[] = {view_of_crop(image, {3, 4}, DType::u8), view_of_crop(mask, {3, 4, 1}, DType::i32)};
    const MutView out[] = {mutable_view_of(image_out, {2, 2}, DType::u8),
                           mutable_view_of(mask_out, {2, 2, 1}, DType::i32)};
    Scratch scratch;
    CallContext call(scratch, Key(3, 0, {.index = index}));
    ASSERT_TRUE(op->run(in, out, call).ok());
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(image_out[i], mask_out[i]);
    EXPECT_EQ(image_out[3], image_out[0] + 5);
    corners.insert(image_out[0]);
  }
  EXPECT_EQ(corners, (std::set<int>{0, 1, 2, 4, 5, 6}));
}

TEST(RandomCrop, InfersTheWindowAndKeepsTheChannels) {
  const TensorSpec image{DType::u8, {kAny, kAny, 3}};
  const auto specs = crop_of("random_crop", Value::List{5, 7})->infer({&image, 1});
  ASSERT_TRUE(specs.ok());
  EXPECT_EQ((*specs)[0].text(), "uint8 (5, 7, 3)");
}

TEST(RandomCrop, RefusalsNameBothSizes) {
  const OpPtr op = crop_of("random_crop", 8);
  const TensorSpec small{DType::u8, {6, 9, 3}};
  EXPECT_EQ(op->infer({&small, 1}).status().text(),
            "random_crop: expected an image of at least (8, 8), got (6, 9)");
  std::vector<uint8_t> a(100), b(90), out_a(64), out_b(64);
  const View in[] = {view_of_crop(a, {10, 10}, DType::u8), view_of_crop(b, {9, 10}, DType::u8)};
  const MutView out[] = {mutable_view_of(out_a, {8, 8}, DType::u8),
                         mutable_view_of(out_b, {8, 8}, DType::u8)};
  Scratch scratch;
  CallContext call(scratch);
  EXPECT_EQ(op->run(in, out, call).text(),
            "random_crop: expected inputs of one height and width, got (10, 10) and (9, 10)");
  EXPECT_EQ(make_op("random_crop", Value(Value::Object{{"size", 0}})).status().text(),
            "random_crop: size must be at least 1, got (0)");
}

}  // namespace
}  // namespace headrace
