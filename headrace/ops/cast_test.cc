#include <gtest/gtest.h>

#include <vector>

#include "headrace/ops/op.h"

namespace headrace {
namespace {

TEST(CastOp, KeepsTheShapeAndConvertsTheNumbers) {
  const OpPtr op = *make_op("cast", *Value::parse(R"({"dtype": "u8"})"));
  const std::vector<float> numbers{-1.5f, 2.9f, 300.0f, 7.0f};
  std::vector<uint8_t> out(4);
  const View in{DType::f32, {2, 2}, reinterpret_cast<const std::byte*>(numbers.data())};
  const MutView view{DType::u8, {2, 2}, reinterpret_cast<std::byte*>(out.data())};
  Scratch scratch;
  CallContext call(scratch);
  ASSERT_TRUE(op->run({&in, 1}, {&view, 1}, call).ok());
  EXPECT_EQ(out, (std::vector<uint8_t>{0, 2, 255, 7}));
  const TensorSpec spec[] = {{DType::f32, {kAny, 2}}};
  EXPECT_EQ((*op->infer(spec))[0].text(), "uint8 (?, 2)");
  EXPECT_TRUE(op->elementwise());
}

TEST(CastOp, RefusesText) {
  EXPECT_EQ(make_op("cast", *Value::parse(R"({"dtype": "str"})")).status().text(),
            "cast: dtype must be numeric, got str");
  const TensorSpec spec[] = {{DType::bytes, {kAny}}};
  EXPECT_EQ((*make_op("cast", *Value::parse(R"({"dtype": "f32"})")))->infer(spec).status().text(),
            "cast: expected numbers, got bytes");
}

}  // namespace
}  // namespace headrace
