#include <gtest/gtest.h>

#include <vector>

#include "headrace/ops/op.h"

namespace headrace {
namespace {

template <class T> std::vector<float> normalized(std::string_view params, DType dtype,
                                                 const std::vector<T>& pixels, const Shape& shape) {
  const OpPtr op = *make_op("normalize", *Value::parse(params));
  const View in{dtype, shape, reinterpret_cast<const std::byte*>(pixels.data())};
  Shape out_shape;
  Scratch scratch;
  CallContext call(scratch);
  EXPECT_TRUE(op->measure({&in, 1}, {&out_shape, 1}, call).ok());
  std::vector<float> out(pixels.size());
  const MutView view{DType::f32, out_shape, reinterpret_cast<std::byte*>(out.data())};
  const Status status = op->run({&in, 1}, {&view, 1}, call);
  EXPECT_TRUE(status.ok()) << status.text();
  return out;
}

TEST(NormalizeOp, BytesAreScaledToOneByDefault) {
  EXPECT_EQ((normalized<uint8_t>("{}", DType::u8, {0, 51, 255}, {1, 1, 3})),
            (std::vector<float>{0, 51 * (1.0f / 255), 1}));
  EXPECT_EQ((normalized<float>("{}", DType::f32, {0, 51, 255}, {1, 1, 3})), (std::vector<float>{0, 51, 255}));
}

TEST(NormalizeOp, OneMeanServesAllChannelsAndScaleCanBeGiven) {
  EXPECT_EQ((normalized<uint8_t>(R"({"mean": 10, "std": [1, 2, 4], "scale": 1})", DType::u8, {10, 20, 30},
                                 {1, 1, 3})),
            (std::vector<float>{0, 5, 5}));
}

TEST(NormalizeOp, PutsChannelsFirst) {
  EXPECT_EQ(
      (normalized<uint8_t>(R"({"scale": 1, "layout": "CHW"})", DType::u8, {1, 2, 3, 4, 5, 6}, {1, 2, 3})),
      (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

TEST(NormalizeOp, InfersDtypeAndLayout) {
  const OpPtr op = *make_op("normalize", *Value::parse(R"({"dtype": "f16", "layout": "CHW"})"));
  const TensorSpec in[] = {{DType::u8, {kAny, 224, 3}}};
  EXPECT_EQ((*op->infer(in))[0].text(), "float16 (3, ?, 224)");
}

TEST(NormalizeOp, SaysWhatItWants) {
  const auto refusal = [](std::string_view json) {
    return std::string(make_op("normalize", *Value::parse(json)).status().text());
  };
  EXPECT_EQ(refusal(R"({"std": 0})"), "normalize: std must be above 0, got 0.000000");
  EXPECT_EQ(refusal(R"({"dtype": "i64"})"),
            "normalize: dtype must be float32, float16, bfloat16 or uint8, got int64");
  EXPECT_EQ(refusal(R"({"layout": "WHC"})"), R"(normalize: layout must be "HWC" or "CHW", got "WHC")");
  const OpPtr op = *make_op("normalize", *Value::parse(R"({"mean": [1, 2, 3]})"));
  const TensorSpec gray[] = {{DType::u8, {4, 4, 1}}}, planes[] = {{DType::u8, {4, 4}}};
  EXPECT_EQ(op->infer(gray).status().text(),
            "normalize: expected one mean or one per channel, got 3 for uint8 (4, 4, 1)");
  EXPECT_EQ(op->infer(planes).status().text(),
            "normalize: expected a uint8, uint16 or float32 image (H, W, C), got uint8 (4, 4)");
}

TEST(NormalizeOp, NumbersOf16BitsNeedAScale) {
  const TensorSpec image[] = {{DType::u16, {1, 2, 1}}};
  EXPECT_EQ(
      (*make_op("normalize", Value()))->infer(image).status().text(),
      "normalize: expected scale= for a uint16 image, got None: scale=1/65535 makes samples of 16 bits 0 to "
      "1, 1/1023 those of 10; scale=1 keeps the numbers, as of a depth map");
  const OpPtr op = *make_op("normalize", Value(Value::Object{{"scale", 0.5}, {"mean", 100.0}, {"std", 4.0}}));
  const std::vector<uint16_t> pixels{1000, 65535};
  std::vector<float> out(2);
  Scratch scratch;
  CallContext call(scratch);
  const View in{DType::u16, {1, 2, 1}, reinterpret_cast<const std::byte*>(pixels.data())};
  const MutView to{DType::f32, {1, 2, 1}, reinterpret_cast<std::byte*>(out.data())};
  ASSERT_TRUE(op->run({&in, 1}, {&to, 1}, call).ok());
  EXPECT_EQ(out, (std::vector<float>{100, 8166.875f}));
}

}  // namespace
}  // namespace headrace
