#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "headrace/ops/example.h"
#include "headrace/ops/op.h"

namespace headrace {
namespace {

using testing::HasSubstr;

std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  return out + static_cast<char>(value);
}
std::string field(int number, const std::string& bytes) {
  return varint(static_cast<uint64_t>(number) << 3 | 2) + varint(bytes.size()) + bytes;
}
std::string floats(std::initializer_list<float> values) {
  std::string out;
  for (const float v : values) out.append(reinterpret_cast<const char*>(&v), sizeof v);
  return out;
}
std::string entry(const std::string& key, int kind, const std::string& list) {
  return field(1, field(1, key) + field(2, field(kind, list)));
}
std::string example(const std::string& entries) { return field(1, entries); }

const std::string kExample =
    example(entry("image", 1, field(1, "pixels")) + entry("label", 3, field(1, varint(7))) +
            entry("box", 2, field(1, floats({1.5f, -2, 3, 4}))) +
            entry("loose", 2, "\x0d" + floats({5}) + "\x0d" + floats({6})) +
            entry("ids", 3, field(1, varint(1) + varint(300)) + "\x08" + varint(~uint64_t{0})) +
            entry("empty", 3, "") + entry("label", 3, field(1, varint(8))));

// The values as text, or the error.
std::string take(const std::string& bytes, const char* params) {
  const auto op = make_op("example_feature", *Value::parse(params));
  if (!op.ok()) return std::string(op.status().text());
  const View in{
      DType::bytes, {static_cast<int64_t>(bytes.size())}, reinterpret_cast<const std::byte*>(bytes.data())};
  const TensorSpec spec{DType::bytes, {kAny}};
  const auto inferred = (*op)->infer({&spec, 1});
  if (!inferred.ok()) return std::string(inferred.status().text());
  Shape shape = (*inferred)[0].shape;
  if (Status status = (*op)->measure({&in, 1}, Key(), {&shape, 1}); !status.ok())
    return std::string(status.text());
  std::vector<std::byte> memory(shape.size_bytes((*inferred)[0].dtype) + 1);
  const MutView out{(*inferred)[0].dtype, shape, memory.data()};
  Scratch scratch;
  if (Status status = (*op)->run({&in, 1}, Key(), {&out, 1}, scratch); !status.ok())
    return std::string(status.text());
  if (out.dtype == DType::bytes) return {reinterpret_cast<const char*>(memory.data()), out.size_bytes()};
  std::string text;
  for (int64_t i = 0; i < shape.count(); ++i)
    text += (i ? " " : "") + (out.dtype == DType::f32 ? Value(static_cast<double>(out.as<float>()[i]))
                                                      : Value(out.as<int64_t>()[i]))
                                 .dump();
  return text + " " + shape.text();
}

TEST(ExampleFeature, TakesEachKindPackedAndNot) {
  EXPECT_EQ(take(kExample, R"({"key": "image"})"), "pixels");
  EXPECT_EQ(take(kExample, R"({"key": "label", "dtype": "i64"})"), "8 ()");  // the last of two
  EXPECT_EQ(take(kExample, R"({"key": "box", "dtype": "f32", "shape": [2, 2]})"), "1.5 -2.0 3.0 4.0 (2, 2)");
  EXPECT_EQ(take(kExample, R"({"key": "loose", "dtype": "f32", "shape": null})"), "5.0 6.0 (2)");
  EXPECT_EQ(take(kExample, R"({"key": "ids", "dtype": "i64", "shape": null})"), "1 300 -1 (3)");
  EXPECT_EQ(take(kExample, R"({"key": "empty", "dtype": "i64", "shape": null})"), " (0)");
}

TEST(ExampleFeature, WhatIsMissingHasItsDefaultOrIsAnError) {
  EXPECT_EQ(take(kExample, R"({"key": "no", "dtype": "i64", "default_value": -1})"), "-1 ()");
  EXPECT_EQ(take(kExample, R"({"key": "no", "dtype": "f32", "shape": [2], "default_value": 0.5})"),
            "0.5 0.5 (2)");
  EXPECT_EQ(take(kExample, R"({"key": "no", "dtype": "f32", "shape": null})"), " (0)");
  EXPECT_THAT(take(kExample, R"({"key": "no"})"), HasSubstr("wants the feature 'no', the example has none"));
  EXPECT_THAT(take("", R"({"key": "no"})"), HasSubstr("wants the feature 'no'"));
}

TEST(ExampleFeature, SaysWhatDoesNotFit) {
  EXPECT_THAT(take(kExample, R"({"key": "image", "dtype": "f32"})"),
              HasSubstr("wants 'image' of f32, got bytes"));
  EXPECT_THAT(take(kExample, R"({"key": "ids", "dtype": "i64"})"),
              HasSubstr("wants 1 values of 'ids' for shape (), got 3"));
  EXPECT_THAT(take(kExample, R"({"key": "empty", "dtype": "i64", "default_value": 1})"), HasSubstr("got 0"));
  EXPECT_THAT(take(kExample, R"({"key": "a", "dtype": "f64"})"), HasSubstr("dtype wants bytes, i64 or f32"));
  EXPECT_THAT(take(kExample, R"({"key": "a", "shape": [2]})"), HasSubstr("shape of bytes wants ()"));
  EXPECT_THAT(take(kExample, R"({"key": "a", "default_value": 2})"),
              HasSubstr("default_value wants numbers"));
}

TEST(ExampleFeature, AnyBytesAreReadOrRefused) {
  for (size_t length = 0; length < kExample.size(); ++length)
    EXPECT_THAT(take(kExample.substr(0, length), R"({"key": "no"})"), HasSubstr("wants ")) << length;
  for (size_t i = 0; i < kExample.size(); ++i)
    for (const int flip : {1, 0x80, 0xff}) {
      std::string bytes = kExample;
      bytes[i] = static_cast<char>(bytes[i] ^ flip);
      for (const char* params : {R"({"key": "ids", "dtype": "i64", "shape": null})",
                                 R"({"key": "box", "dtype": "f32", "shape": null})", R"({"key": "image"})"})
        (void)take(bytes, params);
    }
  EXPECT_THAT(take(std::string(20, '\xff'), R"({"key": "no"})"),
              HasSubstr("there is not a number of at most ten bytes at byte 10"));
}

}  // namespace
}  // namespace headrace
