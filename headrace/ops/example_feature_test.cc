#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/ops/testing.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

using testing::entry, testing::example, testing::field, testing::floats, testing::varint;

const std::string kExample =
    example(entry("image", 1, field(1, "pixels")) + entry("label", 3, field(1, varint(7))) +
            entry("box", 2, field(1, floats({1.5f, -2, 3, 4}))) +
            entry("loose", 2, "\x0d" + floats({5}) + "\x0d" + floats({6})) +
            entry("ids", 3, field(1, varint(1) + varint(300)) + "\x08" + varint(~uint64_t{0})) +
            entry("empty", 3, "") + entry("label", 3, field(1, varint(8))));

std::string take(const std::string& bytes, const char* params) {
  return testing::call_on_bytes("example_feature", params, bytes);
}

TEST(ExampleFeature, TakesEachKindPackedAndNot) {
  EXPECT_EQ(take(kExample, R"({"key": "image"})"), "'pixels'");
  EXPECT_EQ(take(kExample, R"({"key": "label", "dtype": "i64"})"), "8 ()");  // the last of two
  EXPECT_EQ(take(kExample, R"({"key": "box", "dtype": "f32", "shape": [2, 2]})"), "1.5 -2.0 3.0 4.0 (2, 2)");
  EXPECT_EQ(take(kExample, R"({"key": "loose", "dtype": "f32", "shape": null})"), "5.0 6.0 (2)");
  EXPECT_EQ(take(kExample, R"({"key": "ids", "dtype": "i64", "shape": null})"), "1 300 -1 (3)");
  EXPECT_EQ(take(kExample, R"({"key": "empty", "dtype": "i64", "shape": null})"), "(0)");
}

TEST(ExampleFeature, WhatIsMissingHasItsDefaultOrIsAnError) {
  EXPECT_EQ(take(kExample, R"({"key": "no", "dtype": "i64", "default_value": -1})"), "-1 ()");
  EXPECT_EQ(take(kExample, R"({"key": "no", "dtype": "i64", "default_value": 9007199254740993})"),
            "9007199254740993 ()");
  EXPECT_THAT(take(kExample, R"({"key": "no", "dtype": "i64", "default_value": 0.5})"),
              HasSubstr("must be an integer for int64, got 0.5"));
  EXPECT_EQ(take(kExample, R"({"key": "no", "dtype": "f32", "shape": [2], "default_value": 0.5})"),
            "0.5 0.5 (2)");
  EXPECT_EQ(take(kExample, R"({"key": "no", "dtype": "f32", "shape": null})"), "(0)");
  EXPECT_THAT(take(kExample, R"({"key": "no"})"),
              HasSubstr("the example has no feature 'no'; it has \"image\", \"label\", \"box\""));
  EXPECT_THAT(take("", R"({"key": "no"})"), HasSubstr("the example has no feature 'no'; it has no features"));
}

TEST(ExampleFeature, SaysWhatDoesNotFit) {
  EXPECT_THAT(take(kExample, R"({"key": "image", "dtype": "f32"})"),
              HasSubstr("expected 'image' of float32, got bytes"));
  EXPECT_THAT(take(kExample, R"({"key": "ids", "dtype": "i64"})"),
              HasSubstr("expected 1 values of 'ids' for shape (), got 3"));
  EXPECT_THAT(take(kExample, R"({"key": "empty", "dtype": "i64", "default_value": 1})"), HasSubstr("got 0"));
  EXPECT_THAT(take(kExample, R"({"key": "a", "dtype": "f64"})"),
              HasSubstr("dtype must be bytes, int64 or float32"));
  EXPECT_THAT(take(kExample, R"({"key": "a", "shape": [2]})"), HasSubstr("shape of bytes must be ()"));
  EXPECT_THAT(take(kExample, R"({"key": "a", "default_value": 2})"),
              HasSubstr("default_value needs numbers"));
}

TEST(ExampleFeature, AnyBytesAreReadOrRefused) {
  for (size_t length = 0; length < kExample.size(); ++length)
    EXPECT_THAT(take(kExample.substr(0, length), R"({"key": "no"})"),
                ::testing::AnyOf(HasSubstr("the example has no feature"), HasSubstr("expected ")))
        << length;
  for (size_t i = 0; i < kExample.size(); ++i)
    for (const int flip : {1, 0x80, 0xff}) {
      std::string bytes = kExample;
      bytes[i] = static_cast<char>(bytes[i] ^ flip);
      for (const char* params : {R"({"key": "ids", "dtype": "i64", "shape": null})",
                                 R"({"key": "box", "dtype": "f32", "shape": null})", R"({"key": "image"})"})
        (void)take(bytes, params);
    }
  EXPECT_THAT(take(std::string(20, '\xff'), R"({"key": "no"})"),
              HasSubstr("at byte 10 there is not a number of at most ten bytes"));
}

}  // namespace
}  // namespace headrace
