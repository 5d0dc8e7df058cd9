#include <gtest/gtest.h>

#include "headrace/ops/op.h"

namespace headrace {
namespace {

TEST(ConstantOp, HasNoInputsAndOneScalar) {
  const OpPtr op = *make_op("constant", *Value::parse(R"({"value": 200, "dtype": "u8"})"));
  EXPECT_EQ((*op->infer({}))[0].text(), "uint8 ()");
  uint8_t out = 0;
  const MutView view{DType::u8, {}, reinterpret_cast<std::byte*>(&out)};
  Scratch scratch;
  CallContext call(scratch);
  ASSERT_TRUE(op->run({}, {&view, 1}, call).ok());
  EXPECT_EQ(out, 200);
  EXPECT_FALSE(op->elementwise());  // over a batch it would still be one scalar
}

TEST(ConstantOp, RefusesWhatTheTypeCannotHold) {
  const auto text = [](const char* params) {
    return std::string(make_op("constant", *Value::parse(params)).status().text());
  };
  EXPECT_EQ(text(R"({"value": 256, "dtype": "u8"})"), "constant: value 256 does not fit into uint8");
  EXPECT_EQ(text(R"({"value": 2, "dtype": "bool"})"), "constant: value 2 does not fit into bool");
  EXPECT_EQ(text(R"({"value": 1, "dtype": "str"})"), "constant: dtype must be numeric, got str");
}

}  // namespace
}  // namespace headrace
