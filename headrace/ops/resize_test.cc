#include "headrace/kernels/resize.h"

#include <gtest/gtest.h>

#include <vector>

#include "headrace/ops/op.h"

namespace headrace {
namespace {

Value sized(Value::List size) { return Value(Value::Object{{"size", std::move(size)}}); }

std::string shape_of(const Value& params, const TensorSpec& image) {
  const TensorSpec in[] = {image};
  const auto out = (*make_op("resize", params))->infer(in);
  return out.ok() ? (*out)[0].text() : std::string(out.status().text());
}

TEST(ResizeOp, InfersTheShape) {
  EXPECT_EQ(shape_of(sized({32, 48}), {DType::u8, {kAny, kAny, 3}}), "uint8 (32, 48, 3)");
  EXPECT_EQ(shape_of(sized({32, 48}), {DType::f32, {10, 20}}), "float32 (32, 48)");
  EXPECT_EQ(shape_of(sized({256}), {DType::u8, {kAny, kAny, 3}}), "uint8 (?, ?, 3)");
  // int(size * longer / shorter), as in torchvision.
  EXPECT_EQ(shape_of(sized({256}), {DType::u8, {375, 500, 3}}), "uint8 (256, 341, 3)");
  EXPECT_EQ(shape_of(sized({256}), {DType::u8, {500, 333, 3}}), "uint8 (384, 256, 3)");
}

TEST(ResizeOp, SaysWhatItWants) {
  EXPECT_EQ(shape_of(sized({8}), {DType::i64, {5, 5, 3}}),
            "resize: expected a uint8, uint16 or float32 image (H, W, C) of 1 to 4 channels, or (H, W), got "
            "int64 (5, 5, 3)");
  EXPECT_EQ(shape_of(sized({8}), {DType::u8, {3, 224, 224}}),
            "resize: expected a uint8, uint16 or float32 image (H, W, C) of 1 to 4 channels, or (H, W), got "
            "uint8 (3, 224, 224)");
  EXPECT_EQ(shape_of(sized({8}), {DType::u8, {0, 224, 3}}),
            "resize: expected an image of 1 to 16777216 pixels a side, got uint8 (0, 224, 3)");
  EXPECT_EQ(
      shape_of(sized({60000}), {DType::u8, {1, 100, 3}}),
      "resize: expected a result of at most 65500 pixels a side, got 6000000 from an image (1, 100, 3)");
  EXPECT_EQ(make_op("resize", Value()).status().text(),
            "resize: the parameter 'size' is missing ((height, width), or one number: the shorter side.)");
  EXPECT_EQ(make_op("resize", sized({1, 2, 3})).status().text(),
            "resize: size must be one number or (height, width), got 3 numbers");
  EXPECT_EQ(make_op("resize", sized({0})).status().text(), "resize: size must be from 1 to 65500, got 0");
}

TEST(ResizeOp, MasksHoldAnyNumbersAndTakeTheNearest) {
  const OpPtr op = *make_op("resize", sized({2, 2}));
  const std::vector<uint8_t> image{0, 100, 200, 40, 80, 120, 9, 9, 9};
  const std::vector<int64_t> mask{1, 2, int64_t{1} << 40, 4, 5, 6, 7, 8, -9};
  std::vector<uint8_t> image_out(4);
  std::vector<int64_t> mask_out(4);
  Scratch scratch;
  CallContext call(scratch);
  const View in[] = {{DType::u8, {3, 3}, reinterpret_cast<const std::byte*>(image.data())},
                     {DType::i64, {3, 3}, reinterpret_cast<const std::byte*>(mask.data())}};
  const MutView out[] = {{DType::u8, {2, 2}, reinterpret_cast<std::byte*>(image_out.data())},
                         {DType::i64, {2, 2}, reinterpret_cast<std::byte*>(mask_out.data())}};
  ASSERT_TRUE(op->run(in, out, call).ok());
  EXPECT_EQ(mask_out, (std::vector<int64_t>{1, int64_t{1} << 40, 7, -9}));
}

TEST(ResizeOp, RoundsAndClampsNumbersOf16Bits) {
  const std::vector<uint16_t> numbers{0, 10000, 20000, 4000, 8000, 12000};
  std::vector<uint16_t> out(2);
  Scratch scratch;
  CallContext call(scratch);
  const View in{DType::u16, {3, 2}, reinterpret_cast<const std::byte*>(numbers.data())};
  const MutView to{DType::u16, {1, 2}, reinterpret_cast<std::byte*>(out.data())};
  ASSERT_TRUE((*make_op("resize", sized({1, 2})))->run({&in, 1}, {&to, 1}, call).ok());
  EXPECT_EQ(out, (std::vector<uint16_t>{10857, 8000}));  // weights 2/7, 3/7, 2/7
  const std::vector<uint16_t> edge{0, 0, 0, 0, 65535, 65535, 65535, 65535};
  std::vector<uint16_t> larger(24);
  const View steep{DType::u16, {1, 8}, reinterpret_cast<const std::byte*>(edge.data())};
  const MutView wide{DType::u16, {1, 24}, reinterpret_cast<std::byte*>(larger.data())};
  const Value cubic{Value::Object{{"size", Value::List{1, 24}}, {"interpolation", "bicubic"}}};
  ASSERT_TRUE((*make_op("resize", cubic))->run({&steep, 1}, {&wide, 1}, call).ok());
  EXPECT_EQ(larger[9], 0);  // below 0 without clamping
  EXPECT_EQ(larger[14], 65535);
}

TEST(ResizeOp, RunsTheKernelOnBytesAndFloats) {
  const std::vector<uint8_t> bytes{0, 100, 200, 40, 80, 120};
  const std::vector<float> floats(bytes.begin(), bytes.end());
  const OpPtr op = *make_op("resize", sized({1, 2}));
  std::vector<uint8_t> byte_out(2);
  std::vector<float> float_out(2);
  Scratch scratch;
  CallContext call(scratch);
  const View in_u8{DType::u8, {3, 2}, reinterpret_cast<const std::byte*>(bytes.data())};
  const MutView out_u8{DType::u8, {1, 2}, reinterpret_cast<std::byte*>(byte_out.data())};
  ASSERT_TRUE(op->run({&in_u8, 1}, {&out_u8, 1}, call).ok());
  EXPECT_EQ(byte_out, (std::vector<uint8_t>{109, 80}));  // weights 2/7, 3/7, 2/7, as Pillow rounds
  const View in_f32{DType::f32, {3, 2}, reinterpret_cast<const std::byte*>(floats.data())};
  const MutView out_f32{DType::f32, {1, 2}, reinterpret_cast<std::byte*>(float_out.data())};
  ASSERT_TRUE(op->run({&in_f32, 1}, {&out_f32, 1}, call).ok());
  EXPECT_NEAR(float_out[0], 108.571f, 1e-3f);
  EXPECT_NEAR(float_out[1], 80.0f, 1e-3f);
}

}  // namespace
}  // namespace headrace
