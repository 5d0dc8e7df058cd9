#include <gtest/gtest.h>

#include "headrace/ops/op.h"

namespace headrace {
namespace {

using Bits = std::vector<int>;

template <class T> View view_over(const std::vector<T>& values, DType dtype) {
  return {dtype, {static_cast<int64_t>(values.size())}, reinterpret_cast<const std::byte*>(values.data())};
}

Bits run_compare(const OpPtr& op, std::span<const View> in) {
  std::vector<TensorSpec> specs;
  for (const View& view : in) specs.push_back(view.spec());
  const auto inferred = op->infer(specs);
  EXPECT_TRUE(inferred.ok()) << inferred.status().text();
  if (!inferred.ok()) return {};
  EXPECT_EQ((*inferred)[0].dtype, DType::boolean);
  std::vector<uint8_t> memory(static_cast<size_t>((*inferred)[0].shape.count()));
  const MutView out{DType::boolean, (*inferred)[0].shape, reinterpret_cast<std::byte*>(memory.data())};
  Scratch scratch;
  CallContext call(scratch);
  EXPECT_TRUE(op->run(in, {&out, 1}, call).ok());
  return Bits(memory.begin(), memory.end());
}

template <class T> Bits compare(std::string_view name, const std::vector<T>& x, DType dtype, Value value) {
  const View in[] = {view_over(x, dtype)};
  return run_compare(*make_op(name, Value(Value::Object{{"value", std::move(value)}})), in);
}

TEST(Compare, EachWithAnInteger) {
  const std::vector<int32_t> x{4, 5, 6};
  EXPECT_EQ(compare("less", x, DType::i32, 5), (Bits{1, 0, 0}));
  EXPECT_EQ(compare("less_equal", x, DType::i32, 5), (Bits{1, 1, 0}));
  EXPECT_EQ(compare("greater", x, DType::i32, 5), (Bits{0, 0, 1}));
  EXPECT_EQ(compare("greater_equal", x, DType::i32, 5), (Bits{0, 1, 1}));
  EXPECT_EQ(compare("equal", x, DType::i32, 5), (Bits{0, 1, 0}));
  EXPECT_EQ(compare("not_equal", x, DType::i32, 5), (Bits{1, 0, 1}));
}

TEST(Compare, NumbersBeyondTheDtypeMeanWhatTheySay) {
  const std::vector<uint8_t> x{0, 1, 255};
  EXPECT_EQ(compare("less", x, DType::u8, 300), (Bits{1, 1, 1}));
  EXPECT_EQ(compare("greater", x, DType::u8, -1), (Bits{1, 1, 1}));
  EXPECT_EQ(compare("equal", x, DType::u8, 256), (Bits{0, 0, 0}));
  EXPECT_EQ(compare("less", x, DType::u8, 0.5), (Bits{1, 0, 0}));
  const std::vector<uint64_t> large{~uint64_t{0}};
  EXPECT_EQ(compare("less", large, DType::u64, 5), (Bits{0}));
  EXPECT_EQ(compare("greater", large, DType::u64, -5), (Bits{1}));
}

TEST(Compare, AFloatTensorSeesTheNumberInItsOwnDtype) {
  EXPECT_EQ(compare("equal", std::vector<float>{0.1f}, DType::f32, 0.1), (Bits{1}));
  EXPECT_EQ(compare("equal", std::vector<uint16_t>{f32_to_f16(0.1f)}, DType::f16, 0.1), (Bits{1}));
}

TEST(Compare, TwoFields) {
  const std::vector<float> x{1, 2, 3}, y{3, 2, 1};
  const View in[] = {view_over(x, DType::f32), view_over(y, DType::f32)};
  EXPECT_EQ(run_compare(*make_op("less_fields", {}), in), (Bits{1, 0, 0}));
  EXPECT_EQ(run_compare(*make_op("equal_fields", {}), in), (Bits{0, 1, 0}));
}

TEST(Compare, LogicOnBool) {
  const std::vector<uint8_t> x{0, 0, 1, 1}, y{0, 1, 0, 1};
  const View in[] = {view_over(x, DType::boolean), view_over(y, DType::boolean)};
  EXPECT_EQ(run_compare(*make_op("logical_and", {}), in), (Bits{0, 0, 0, 1}));
  EXPECT_EQ(run_compare(*make_op("logical_or", {}), in), (Bits{0, 1, 1, 1}));
  EXPECT_EQ(run_compare(*make_op("logical_not", {}), std::span(in, 1)), (Bits{1, 1, 0, 0}));
  const TensorSpec number{DType::f32, {4}};
  EXPECT_EQ((*make_op("logical_not", {}))->infer({&number, 1}).status().text(),
            "logical_not: expected bool, got float32 (4)");
}

}  // namespace
}  // namespace headrace
