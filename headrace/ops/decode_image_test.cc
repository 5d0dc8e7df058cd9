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
  Scratch scratch;
  CallContext call(scratch);
  HEADRACE_TRY(op->measure({&in, 1}, {&shape, 1}, call));
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
  CallContext call(scratch);
  ASSERT_TRUE(op->run({&in, 1}, {&out, 1}, call).ok());
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
  CallContext call(scratch);
  const Status status = op->run({&in, 1}, {&out, 1}, call);
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

// Grey of 16 bits, of floats, and of 8: 2 pixels each.
const std::string kWide("P5 2 1 65535\n\x03\xe8\xff\xff", 17),
    kFloats("Pf 2 1 1\n\x3f\x80\0\0\x40\0\0\0", 17), kNarrow("P5 2 1 255\n\x03\xe8", 13);

std::string refused(Value::Object params, std::string_view file) {
  return std::string(measure(decoder(std::move(params)), file).status().text());
}

TEST(DecodeImage, MoreThan8BitsAreAskedFor) {
  EXPECT_EQ(refused({}, kWide),
            "decode_image: expected an image of up to 8 bits a sample, got PNM with 16 bits a sample: "
            "dtype=\"uint16\" keeps its numbers, dtype=\"uint8\" the high 8 bits of each");
  EXPECT_EQ(refused({{"color", "index"}, {"dtype", "uint8"}}, kWide),
            "decode_image: expected an image of up to 8 bits a sample, got PNM with 16 bits a sample: "
            "dtype=\"uint16\" keeps its numbers");
  for (const char* dtype : {"uint8", "uint16", ""})
    EXPECT_EQ(refused({{"dtype", *dtype ? Value(dtype) : Value()}}, kFloats),
              "decode_image: expected an image of integers, got PNM of floats: dtype=\"float32\" keeps its "
              "numbers");
  EXPECT_EQ(refused({{"dtype", "uint16"}}, kNarrow),
            "decode_image: expected an image of more than 8 bits a sample, got PNM with 8 bits a sample: "
            "dtype=\"uint8\" gives its pixels, color=\"index\" the stored numbers of a mask as uint16");
  EXPECT_EQ(
      refused({{"dtype", "float32"}}, kNarrow),
      "decode_image: expected an image of floats, got PNM with 8 bits a sample: decode it without dtype, "
      "then cast it");
  EXPECT_TRUE(measure(decoder({{"dtype", "uint8"}}), kWide).ok());
  EXPECT_TRUE(measure(decoder({{"dtype", "uint16"}, {"color", "index"}}), kNarrow).ok());
}

TEST(DecodeImage, ItsDtypeIsThatOfItsPixels) {
  const TensorSpec file{DType::bytes, {kAny}};
  EXPECT_EQ((*decoder({{"dtype", "uint16"}})->infer({&file, 1}))[0].text(), "uint16 (?, ?, 3)");
  EXPECT_EQ((*decoder({{"dtype", "f32"}, {"color", "gray"}})->infer({&file, 1}))[0].text(),
            "float32 (?, ?, 1)");
  EXPECT_EQ(decoder({{"dtype", "unchanged"}})->infer({&file, 1}).status().text(),
            "decode_image: dtype=\"unchanged\" is known where an image is: in a pipeline expected "
            "dtype=\"uint8\", \"uint16\" or \"float32\"");
  EXPECT_NE(decoder({{"dtype", "uint16"}})->params().dump().find(R"("dtype":"u16")"), std::string::npos);
  EXPECT_EQ(make_op("decode_image", Value(Value::Object{{"dtype", "int16"}})).status().text(),
            "decode_image: dtype must be \"uint8\", \"uint16\", \"float32\", \"unchanged\" or None, got "
            "\"int16\"");
}

TEST(DecodeImage, UnchangedIsWhatTheFileHas) {
  const auto settled = [](std::string_view file) {
    const Value made =
        *find_op("decode_image")->settle(Value(Value::Object{{"dtype", "unchanged"}}), file_view(file));
    const Value* dtype = made.find("dtype");
    return dtype ? dtype->dump() : "none";
  };
  EXPECT_EQ(settled(kWide), "\"u16\"");
  EXPECT_EQ(settled(kFloats), "\"f32\"");
  EXPECT_EQ(settled(kNarrow), "none");
}

}  // namespace
}  // namespace headrace
