#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "headrace/ops/op.h"

namespace headrace {
namespace {

template <class T> View view_of(const std::vector<T>& values, DType dtype) {
  return {dtype, {static_cast<int64_t>(values.size())}, reinterpret_cast<const std::byte*>(values.data())};
}

// The dtype and the elements that `op` returns, elements as Out.
template <class Out> std::vector<Out> run(const OpPtr& op, std::span<const View> in, DType wanted) {
  std::vector<TensorSpec> specs;
  for (const View& view : in) specs.push_back(view.spec());
  const auto inferred = op->infer(specs);
  EXPECT_TRUE(inferred.ok()) << inferred.status().text();
  if (!inferred.ok()) return {};
  EXPECT_EQ((*inferred)[0].dtype, wanted);
  const auto memory = std::make_unique<Out[]>(static_cast<size_t>((*inferred)[0].shape.count()));
  const MutView out{wanted, (*inferred)[0].shape, reinterpret_cast<std::byte*>(memory.get())};
  Scratch scratch;
  CallContext call(scratch);
  const Status status = op->run(in, {&out, 1}, call);
  EXPECT_TRUE(status.ok()) << status.text();
  return std::vector<Out>(memory.get(), memory.get() + out.shape.count());
}

OpPtr with_number(std::string_view name, Value value) {
  const auto op = make_op(name, Value(Value::Object{{"value", std::move(value)}}));
  EXPECT_TRUE(op.ok()) << op.status().text();
  return *op;
}

TEST(Arithmetic, AnIntegerTensorKeepsItsDtypeWithAnInteger) {
  const std::vector<int64_t> x{-1, 0, 41};
  const View in[] = {view_of(x, DType::i64)};
  EXPECT_EQ(run<int64_t>(with_number("add", 1), in, DType::i64), (std::vector<int64_t>{0, 1, 42}));
  EXPECT_EQ(run<int64_t>(with_number("subtract", 1), in, DType::i64), (std::vector<int64_t>{-2, -1, 40}));
  EXPECT_EQ(run<int64_t>(with_number("subtract_from", 0), in, DType::i64), (std::vector<int64_t>{1, 0, -41}));
  EXPECT_EQ(run<int64_t>(with_number("multiply", -2), in, DType::i64), (std::vector<int64_t>{2, 0, -82}));
}

TEST(Arithmetic, IntegersOfMoreThan16BitsBecomeF64AndStayWhatTheyAre) {
  const std::vector<int64_t> x{16777217, 1577836800123, (int64_t{1} << 53) - 1};
  const View in[] = {view_of(x, DType::i64)}, both[] = {in[0], in[0]};
  EXPECT_EQ(run<double>(with_number("multiply", 1.0), in, DType::f64),
            (std::vector<double>{16777217, 1577836800123, 9007199254740991}));
  EXPECT_EQ(run<double>(with_number("divide", 1000), in, DType::f64)[1], 1577836800.123);
  EXPECT_EQ(run<double>(*make_op("divide_fields", {}), both, DType::f64), (std::vector<double>{1, 1, 1}));
  const std::vector<uint32_t> y{4294967295};
  const View in_32[] = {view_of(y, DType::u32)};
  EXPECT_EQ(run<double>(with_number("add", 0.5), in_32, DType::f64)[0], 4294967295.5);
}

TEST(Arithmetic, AnIntegerTensorOfAtMost16BitsBecomesF32WithAFloatOrADivision) {
  const std::vector<uint8_t> x{0, 51, 255};
  const View in[] = {view_of(x, DType::u8)};
  EXPECT_EQ(run<float>(with_number("add", 0.5), in, DType::f32), (std::vector<float>{0.5f, 51.5f, 255.5f}));
  EXPECT_EQ(run<float>(with_number("divide", 255), in, DType::f32),
            (std::vector<float>{0.0f, 51 / 255.0f, 1.0f}));
  EXPECT_EQ(run<float>(with_number("divide_into", 51), in, DType::f32)[1], 1.0f);
}

TEST(Arithmetic, AFloatTensorKeepsItsDtype) {
  const std::vector<double> x{0.1, 2};
  const View in[] = {view_of(x, DType::f64)};
  EXPECT_EQ(run<double>(with_number("add", 1), in, DType::f64), (std::vector<double>{1.1, 3}));
  const std::vector<uint16_t> half{f32_to_f16(1.5f)};
  const View half_in[] = {view_of(half, DType::f16)};
  EXPECT_EQ(run<uint16_t>(with_number("multiply", 2), half_in, DType::f16)[0], f32_to_f16(3.0f));
}

TEST(Arithmetic, AFloatTensorSeesTheNumberInItsOwnDtype) {
  const std::vector<uint16_t> x{f32_to_f16(65504.0f)};
  const View in[] = {view_of(x, DType::f16)};
  const float rounded = f16_to_f32(f32_to_f16(0.1f));
  EXPECT_EQ(run<uint16_t>(with_number("multiply", 0.1), in, DType::f16)[0], f32_to_f16(65504.0f * rounded));
  EXPECT_NE(f32_to_f16(65504.0f * rounded), f32_to_f16(65504.0f * 0.1f));
}

TEST(Arithmetic, IntegersWrapAround) {
  const std::vector<int32_t> x{std::numeric_limits<int32_t>::max()};
  const View in[] = {view_of(x, DType::i32)};
  EXPECT_EQ(run<int32_t>(with_number("add", 1), in, DType::i32)[0], std::numeric_limits<int32_t>::min());
  const std::vector<uint16_t> small{65535};
  const View small_in[] = {view_of(small, DType::u16)};
  EXPECT_EQ(run<uint16_t>(with_number("multiply", 65535), small_in, DType::u16)[0], 1);
}

TEST(Arithmetic, WholeDivisionGoesDownAndWhatIsLeftHasTheDivisorsSign) {
  const std::vector<int8_t> x{-128, -7, 0, 7};
  const View in[] = {view_of(x, DType::i8)};
  const auto with = [&](std::string_view name, int value) {
    return run<int8_t>(with_number(name, value), in, DType::i8);
  };
  EXPECT_EQ(with("floor_divide", 3), (std::vector<int8_t>{-43, -3, 0, 2}));
  EXPECT_EQ(with("remainder", 3), (std::vector<int8_t>{1, 2, 0, 1}));
  EXPECT_EQ(with("floor_divide", -3), (std::vector<int8_t>{42, 2, 0, -3}));
  EXPECT_EQ(with("remainder", -3), (std::vector<int8_t>{-2, -1, 0, -2}));
  EXPECT_EQ(with("floor_divide", -1), (std::vector<int8_t>{-128, 7, 0, -7}));
  EXPECT_EQ(with("remainder", -1), (std::vector<int8_t>{0, 0, 0, 0}));
  EXPECT_EQ(with("floor_divide_into", 20), (std::vector<int8_t>{-1, -3, 0, 2}));
  EXPECT_EQ(with("remainder_of", 20), (std::vector<int8_t>{-108, -1, 0, 6}));
  const std::vector<double> y{-0.5, 0.0, 5.5};
  const View floats[] = {view_of(y, DType::f64)};
  EXPECT_EQ(run<double>(with_number("floor_divide", 2), floats, DType::f64), (std::vector<double>{-1, 0, 2}));
  EXPECT_EQ(run<double>(with_number("remainder", 2), floats, DType::f64), (std::vector<double>{1.5, 0, 1.5}));
  EXPECT_EQ(with_number("remainder", 0)->infer(std::vector<TensorSpec>{{DType::i8, {3}}}).status().text(),
            "remainder: value must not be 0 for integers");
}

TEST(Arithmetic, TwoFieldsOfEqualShapesOrOneScalar) {
  const std::vector<float> x{1, 2, 3}, y{10, 20, 30};
  const auto scalar_two = std::vector<float>{2};
  const View two{DType::f32, {}, reinterpret_cast<const std::byte*>(scalar_two.data())};
  const View xy[] = {view_of(x, DType::f32), view_of(y, DType::f32)}, two_x[] = {two, view_of(x, DType::f32)};
  EXPECT_EQ(run<float>(*make_op("add_fields", {}), xy, DType::f32), (std::vector<float>{11, 22, 33}));
  EXPECT_EQ(run<float>(*make_op("subtract_fields", {}), two_x, DType::f32), (std::vector<float>{1, 0, -1}));
  EXPECT_EQ(run<float>(*make_op("multiply_fields", {}), xy, DType::f32), (std::vector<float>{10, 40, 90}));
  EXPECT_EQ(run<float>(*make_op("divide_fields", {}), two_x, DType::f32),
            (std::vector<float>{2, 1, 2 / 3.0f}));
}

TEST(Arithmetic, RefusalsSayWhatWasWanted) {
  const auto refusal = [](const OpPtr& op, std::vector<TensorSpec> in) {
    return std::string(op->infer(in).status().text());
  };
  EXPECT_EQ(refusal(with_number("add", 300), {{DType::u8, {3}}}), "add: value 300 does not fit into uint8");
  EXPECT_EQ(refusal(with_number("add", 1), {{DType::str, {3}}}), "add: expected numbers, got str");
  EXPECT_EQ(refusal(*make_op("add_fields", {}), {{DType::f32, {3}}, {DType::f32, {4}}}),
            "add_fields: expected equal shapes or a scalar, got float32 (3) and float32 (4)");
  EXPECT_EQ(refusal(*make_op("add_fields", {}), {{DType::f32, {3}}, {DType::u8, {3}}}),
            "add_fields: expected two tensors of one dtype, got float32 (3) and uint8 (3); cast one of them");
  EXPECT_EQ(make_op("add", Value()).status().text(), "add: the parameter 'value' is missing (The number.)");
}

}  // namespace
}  // namespace headrace
