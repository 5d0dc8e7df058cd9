#include <gtest/gtest.h>

#include "headrace/ops/op.h"

namespace headrace {
namespace {

std::string shape_after(int64_t max_side, const TensorSpec& image) {
  const TensorSpec in[] = {image};
  const auto op = make_op("shrink", Value::Object{{"max_side", max_side}});
  if (!op.ok()) return std::string(op.status().text());
  const auto out = (*op)->infer(in);
  return out.ok() ? (*out)[0].text() : std::string(out.status().text());
}

TEST(Shrink, TheLongerSideIsAtMostTheLimit) {
  EXPECT_EQ(shape_after(100, {DType::u8, {200, 400, 3}}), "uint8 (50, 100, 3)");
  EXPECT_EQ(shape_after(100, {DType::u8, {401, 200, 3}}), "uint8 (100, 50, 3)");
  EXPECT_EQ(shape_after(100, {DType::u8, {1, 5000, 3}}), "uint8 (1, 100, 3)");
  EXPECT_EQ(shape_after(100, {DType::u8, {kAny, kAny, 3}}), "uint8 (?, ?, 3)");
}

TEST(Shrink, SmallerImagesStayAsTheyAre) {
  EXPECT_EQ(shape_after(100, {DType::f32, {100, 60}}), "float32 (100, 60)");
  const uint8_t pixels[] = {1, 2, 3, 4};
  uint8_t out[4] = {};
  const View in[] = {{DType::u8, {2, 2}, reinterpret_cast<const std::byte*>(pixels)}};
  const MutView to[] = {{DType::u8, {2, 2}, reinterpret_cast<std::byte*>(out)}};
  Scratch scratch;
  CallContext call(scratch);
  const auto op = make_op("shrink", Value::Object{{"max_side", 2}});
  ASSERT_TRUE((*op)->run(in, to, call).ok());
  EXPECT_TRUE(std::equal(pixels, pixels + 4, out));
}

TEST(Shrink, SaysWhatItWants) {
  EXPECT_EQ(shape_after(0, {DType::u8, {2, 2, 3}}), "shrink: max_side must be from 1 to 65500, got 0");
}

}  // namespace
}  // namespace headrace
