#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "headrace/ops/op.h"

namespace headrace {
namespace {

struct Answer {
  Status status;
  std::vector<uint8_t> pixels;
};

// 2 x 2 pieces of a 4 x 6 image of one channel whose pixel (y, x) is 10 * y + x.
template <class T> Answer crop(DType dtype, const std::vector<T>& corners) {
  std::vector<uint8_t> pixels;
  for (int y = 0; y < 4; ++y)
    for (int x = 0; x < 6; ++x) pixels.push_back(static_cast<uint8_t>(10 * y + x));
  const auto count = static_cast<int64_t>(corners.size() / 4);
  const View in[] = {{DType::u8, {4, 6, 1}, reinterpret_cast<const std::byte*>(pixels.data())},
                     {dtype, {count, 4}, reinterpret_cast<const std::byte*>(corners.data())}};
  const OpPtr op = *make_op("crop_boxes", *Value::parse(R"({"size": 2})"));
  Shape shape;
  Scratch scratch;
  CallContext call(scratch);
  EXPECT_TRUE(op->measure(in, {&shape, 1}, call).ok());
  EXPECT_EQ(shape, (Shape{count, 2, 2, 1}));
  Answer answer{{}, std::vector<uint8_t>(static_cast<size_t>(shape.count()))};
  const MutView out{DType::u8, shape, reinterpret_cast<std::byte*>(answer.pixels.data())};
  answer.status = op->run(in, {&out, 1}, call);
  return answer;
}

TEST(CropBoxes, CutsEachBox) {
  const Answer answer = crop<int64_t>(DType::i64, {1, 0, 3, 2, 4, 2, 6, 4});
  ASSERT_TRUE(answer.status.ok()) << answer.status.text();
  EXPECT_EQ(answer.pixels, (std::vector<uint8_t>{1, 2, 11, 12, 24, 25, 34, 35}));
}

TEST(CropBoxes, RoundsAndClampsToTheImage) {
  EXPECT_EQ(crop<float>(DType::f32, {3.6f, 1.8f, 1e9f, 4.4f}).pixels, (std::vector<uint8_t>{24, 25, 34, 35}));
  EXPECT_EQ(crop<int32_t>(DType::i32, {-7, -7, 2, 2}).pixels, (std::vector<uint8_t>{0, 1, 10, 11}));
}

TEST(CropBoxes, NoBoxesGiveNoPieces) { EXPECT_TRUE(crop<int64_t>(DType::i64, {}).status.ok()); }

TEST(CropBoxes, NamesTheEmptyBox) {
  const Answer answer = crop<int64_t>(DType::i64, {0, 0, 2, 2, 6, 0, 9, 2});
  EXPECT_EQ(answer.status.code(), Code::corrupt);
  EXPECT_EQ(answer.status.text(),
            "crop_boxes: expected boxes with at least one pixel inside the image (4, 6), got box 1 (x_min, "
            "y_min, x_max, y_max) = [6.0,0.0,9.0,2.0]");
  EXPECT_EQ(crop<float>(DType::f32, {std::numeric_limits<float>::quiet_NaN(), 0, 2, 2}).status.code(),
            Code::corrupt);
}

TEST(CropBoxes, SaysWhatItWants) {
  const OpPtr op = *make_op("crop_boxes", *Value::parse(R"({"size": [2, 3]})"));
  const TensorSpec good[] = {{DType::u8, {kAny, kAny, 3}}, {DType::i64, {kAny, 4}}};
  EXPECT_EQ((*op->infer(good))[0].text(), "uint8 (?, 2, 3, 3)");
  const TensorSpec floats[] = {{DType::f32, {4, 4, 3}}, {DType::i64, {2, 4}}};
  EXPECT_EQ(op->infer(floats).status().text(),
            "crop_boxes: expected a uint8 or uint16 image (H, W, C), got float32 (4, 4, 3)");
  const TensorSpec five[] = {{DType::u8, {4, 4, 3}}, {DType::i64, {2, 5}}};
  EXPECT_EQ(op->infer(five).status().text(),
            "crop_boxes: expected int64, int32 or float32 boxes (n, 4), got int64 (2, 5)");
}

}  // namespace
}  // namespace headrace
