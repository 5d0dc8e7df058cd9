#include <gtest/gtest.h>

#include "headrace/ops/op.h"
#include "tests/oracle/small_images.h"

namespace headrace {
namespace {

View file_view(std::string_view file) {
  return {DType::bytes, {static_cast<int64_t>(file.size())}, reinterpret_cast<const std::byte*>(file.data())};
}

OpPtr decoder(Value::Object params = {}) { return *make_op("decode_image", Value(std::move(params))); }

Result<Shape> measure(const OpPtr& op, std::string_view file) {
  const View in = file_view(file);
  Shape shape;
  HEADRACE_TRY(op->measure({&in, 1}, Key(), {&shape, 1}));
  return shape;
}

TEST(DecodeImage, ItsMatchIsWrittenIntoEveryPlan) {
  EXPECT_EQ(
      decoder()->params().dump(),
      R"({"color":"rgb","exif_orientation":false,"match":"fast","max_pixels":178956970,"scale_in_dct":false})");
}

TEST(DecodeImage, InfersChannelsFromColor) {
  const TensorSpec file{DType::bytes, {kAny}};
  EXPECT_EQ((*decoder()->infer({&file, 1}))[0].text(), "uint8 (?, ?, 3)");
  EXPECT_EQ((*decoder({{"color", "gray"}})->infer({&file, 1}))[0].text(), "uint8 (?, ?, 1)");
  EXPECT_EQ((*decoder({{"color", "unchanged"}})->infer({&file, 1}))[0].text(), "uint8 (?, ?, ?)");
  const TensorSpec pixels{DType::u8, {2, 2, 3}};
  EXPECT_EQ(decoder()->infer({&pixels, 1}).status().text(),
            "decode_image: expected the bytes of an image file, got uint8 (2, 2, 3)");
}

TEST(DecodeImage, MeasuresBeforeMemoryIsTakenAndDecodesInto) {
  const OpPtr op = decoder({{"color", "unchanged"}});
  const auto shape = measure(op, testing::kPalettePng);
  ASSERT_TRUE(shape.ok());
  EXPECT_EQ(*shape, (Shape{1, 2, 4}));
  std::vector<uint8_t> pixels(8);
  const View in = file_view(testing::kPalettePng);
  const MutView out{DType::u8, *shape, reinterpret_cast<std::byte*>(pixels.data())};
  Scratch scratch;
  ASSERT_TRUE(op->run({&in, 1}, Key(), {&out, 1}, scratch).ok());
  EXPECT_EQ(pixels, (std::vector<uint8_t>{1, 2, 3, 9, 4, 5, 6, 255}));
}

TEST(DecodeImage, TurnsImagesUprightOnRequest) {
  // The palette image with an eXIf chunk (orientation 6, checksum right) between tRNS and IDAT.
  std::string file(testing::kPalettePng);
  const std::string_view exif{
      "\0\0\0\x16"
      "eXIfII*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0"
      "\xb7\x4a\xe3\x84",
      34};
  file.insert(file.find("IDAT") - 4, exif);
  EXPECT_EQ(*measure(decoder(), file), (Shape{1, 2, 3}));
  const OpPtr op = decoder({{"exif_orientation", true}});
  EXPECT_EQ(*measure(op, file), (Shape{2, 1, 3}));
  std::vector<uint8_t> pixels(6);
  const View in = file_view(file);
  const MutView out{DType::u8, {2, 1, 3}, reinterpret_cast<std::byte*>(pixels.data())};
  Scratch scratch;
  const Status status = op->run({&in, 1}, Key(), {&out, 1}, scratch);
  ASSERT_TRUE(status.ok()) << status.text();
  EXPECT_EQ(pixels, (std::vector<uint8_t>{1, 2, 3, 4, 5, 6}));
}

TEST(DecodeImage, RefusalsSayWhy) {
  EXPECT_EQ(measure(decoder(), "hello").status().text(), "decode_image: not an image (starts with 'hell…')");
  EXPECT_EQ(measure(decoder({{"max_pixels", 1}}), testing::kPalettePng).status().text(),
            "decode_image: expected at most 1 pixels, got 1 x 2");
  EXPECT_EQ(make_op("decode_image", Value(Value::Object{{"match", "near"}})).status().text(),
            "decode_image: match must be \"fast\" or \"exact\", got \"near\"");
  EXPECT_EQ(make_op("decode_image", Value(Value::Object{{"match", "exact"}, {"scale_in_dct", true}}))
                .status()
                .text(),
            "decode_image: scale_in_dct needs match=\"fast\", got match=\"exact\"");
}

}  // namespace
}  // namespace headrace
