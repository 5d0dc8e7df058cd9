#include <gtest/gtest.h>

#include "headrace/ops/testing.h"

namespace headrace {
namespace {

using ::headrace::testing::call;

template <class T> std::string relabelled(const char* params, T label, DType dtype) {
  const View in{dtype, {}, reinterpret_cast<const std::byte*>(&label)};
  return call("relabel", params, in, in.spec());
}

TEST(Relabel, NumbersAreReplacedAndMinusOneStays) {
  const char* params = R"({"numbers":[2,0],"classes":["a","b","c"]})";
  EXPECT_EQ(relabelled<int64_t>(params, 0, DType::i64), "2 ()");
  EXPECT_EQ(relabelled<int64_t>(params, 1, DType::i64), "0 ()");
  EXPECT_EQ(relabelled<int64_t>(params, -1, DType::i64), "-1 ()");
  EXPECT_EQ(relabelled<uint8_t>(params, 1, DType::u8), "0 ()");
}

TEST(Relabel, WhatIsNoClassIsAnError) {
  const char* params = R"({"numbers":[2,0]})";
  EXPECT_NE(relabelled<int64_t>(params, 2, DType::i64).find("one of 2 classes, or -1, got 2"),
            std::string::npos);
  EXPECT_NE(
      relabelled<int64_t>(R"({"numbers":[3],"classes":["a"]})", 0, DType::i64).find("from -1 to 0, got 3"),
      std::string::npos);
  EXPECT_NE(relabelled<int8_t>(R"({"numbers":[300]})", 0, DType::i8).find("from 300 to 300, got int8"),
            std::string::npos);
  EXPECT_NE(relabelled<double>(params, 0, DType::f64).find("expected integers"), std::string::npos);
}

}  // namespace
}  // namespace headrace
