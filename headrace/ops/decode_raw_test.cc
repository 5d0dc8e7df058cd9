#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/ops/testing.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

std::string decode(const char* params, const std::string& bytes) {
  return testing::call_on_bytes("decode_raw", params, bytes);
}

TEST(DecodeRaw, TakesBytesForNumbers) {
  const std::string bytes("\1\0\2\0\0\3", 6);
  EXPECT_EQ(decode(R"({"dtype": "u8"})", bytes), "1 0 2 0 0 3 (6)");
  EXPECT_EQ(decode(R"({"dtype": "i16"})", bytes), "1 2 768 (3)");
  EXPECT_EQ(decode(R"({"dtype": "i16", "little_endian": false})", bytes), "256 512 3 (3)");
  EXPECT_EQ(decode(R"({"dtype": "u8", "shape": [2, 3]})", bytes), "1 0 2 0 0 3 (2, 3)");
  EXPECT_EQ(decode(R"({"dtype": "u8", "shape": [-1, 2]})", bytes), "1 0 2 0 0 3 (3, 2)");
  EXPECT_EQ(decode(R"({"dtype": "bool"})", bytes), "1 0 1 0 0 1 (6)");
  EXPECT_EQ(decode(R"({"dtype": "f64"})", ""), "(0)");
}

TEST(DecodeRaw, SaysWhatDoesNotFit) {
  EXPECT_THAT(decode(R"({"dtype": "f32"})", "12345"),
              HasSubstr("expected a multiple of 4 bytes for float32, got 5"));
  EXPECT_THAT(decode(R"({"dtype": "u8", "shape": [2, 2]})", "12345"), HasSubstr("for shape (2, 2), got 5"));
  EXPECT_THAT(decode(R"({"dtype": "u8", "shape": [-1, 2]})", "12345"), HasSubstr("got 5"));
  EXPECT_THAT(decode(R"({"dtype": "u8", "shape": [-1, 0]})", ""), HasSubstr("got 0"));
  EXPECT_THAT(decode(R"({"dtype": "u8", "shape": [-1, -1]})", "1"), HasSubstr("at most one -1"));
  EXPECT_THAT(decode(R"({"dtype": "bytes"})", "1"), HasSubstr("dtype must be numeric"));
}

TEST(Reshape, KeepsTheElements) {
  const uint8_t data[] = {1, 2, 3, 4, 5, 6};
  const View in{DType::u8, {6}, reinterpret_cast<const std::byte*>(data)};
  EXPECT_EQ(testing::call("reshape", R"({"shape": [2, 3]})", in, {DType::u8, {6}}), "1 2 3 4 5 6 (2, 3)");
  EXPECT_EQ(testing::call("reshape", R"({"shape": [-1, 2]})", in, {DType::u8, {kAny}}), "1 2 3 4 5 6 (3, 2)");
  EXPECT_THAT(testing::call("reshape", R"({"shape": [4]})", in, {DType::u8, {6}}),
              HasSubstr("expected the number of elements of shape (4), got uint8 (6)"));
  EXPECT_THAT(testing::call("reshape", R"({"shape": [4]})", in, {DType::u8, {kAny}}),
              HasSubstr("got uint8 (6)"));
}

TEST(OneHot, IsOnAtTheIndexAndAllOffOutside) {
  const int32_t data[] = {0, 2, -1, 3};
  const View in{DType::i32, {4}, reinterpret_cast<const std::byte*>(data)};
  EXPECT_EQ(testing::call("one_hot", R"({"depth": 3, "dtype": "u8"})", in, {DType::i32, {kAny}}),
            "1 0 0 0 0 1 0 0 0 0 0 0 (4, 3)");
  const View one{DType::i32, {}, reinterpret_cast<const std::byte*>(data + 1)};
  EXPECT_EQ(
      testing::call("one_hot", R"({"depth": 3, "on_value": 0.5, "off_value": -1})", one, {DType::i32, {}}),
      "-1.0 -1.0 0.5 (3)");
  EXPECT_THAT(
      testing::call("one_hot", R"({"depth": 3, "on_value": 300, "dtype": "u8"})", one, {DType::i32, {}}),
      HasSubstr("value 300 does not fit into uint8"));
  EXPECT_THAT(testing::call("one_hot", R"({"depth": 0})", one, {DType::i32, {}}), HasSubstr("at least 1"));
}

}  // namespace
}  // namespace headrace
