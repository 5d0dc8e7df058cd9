#include <gtest/gtest.h>

#include <vector>

#include "headrace/codecs/image.h"
#include "headrace/ops/op.h"

namespace headrace {
namespace {

OpPtr encoder(const Value& params) {
  auto op = make_op("encode_image", params);
  EXPECT_TRUE(op.ok()) << op.status().text();
  return op.ok() ? *op : nullptr;
}

std::vector<uint8_t> pixels_of(size_t count) {
  std::vector<uint8_t> out(count);
  for (size_t i = 0; i < count; ++i) out[i] = static_cast<uint8_t>(i * 7 + i / 13);
  return out;
}

View view_of_image(const std::vector<uint8_t>& pixels, Shape shape) {
  return {DType::u8, shape, reinterpret_cast<const std::byte*>(pixels.data())};
}

std::vector<uint8_t> encoded(const OpPtr& op, const View& image) {
  Shape size;
  Scratch scratch;
  CallContext call(scratch);
  EXPECT_TRUE(op->measure({&image, 1}, {&size, 1}, call).ok());
  std::vector<uint8_t> out(static_cast<size_t>(size.count()));
  const MutView to{DType::bytes, size, reinterpret_cast<std::byte*>(out.data())};
  EXPECT_TRUE(op->run({&image, 1}, {&to, 1}, call).ok());
  return out;
}

// What measure() leaves for run() belongs to its call: other calls in between, on the same thread, see
// nothing of it.
TEST(EncodeImage, CallsInBetweenChangeNothing) {
  const OpPtr op = encoder(Value::Object{});
  const auto first = pixels_of(30 * 40 * 3), second = pixels_of(31 * 40 * 3);
  const View a = view_of_image(first, {30, 40, 3}), b = view_of_image(second, {31, 40, 3});
  const auto expected = encoded(op, a);
  Shape size, other;
  Scratch scratch;
  CallContext call(scratch), between(scratch);
  ASSERT_TRUE(op->measure({&a, 1}, {&size, 1}, call).ok());
  ASSERT_TRUE(op->measure({&b, 1}, {&other, 1}, between).ok());
  std::vector<uint8_t> out(static_cast<size_t>(size.count()));
  const MutView to{DType::bytes, size, reinterpret_cast<std::byte*>(out.data())};
  ASSERT_TRUE(op->run({&a, 1}, {&to, 1}, call).ok());
  EXPECT_EQ(out, expected);
}

// Where the size is known, nobody measures.
TEST(EncodeImage, RunsWithoutAMeasurement) {
  const OpPtr op = encoder(Value::Object{});
  const auto pixels = pixels_of(30 * 40 * 3);
  const View image = view_of_image(pixels, {30, 40, 3});
  const auto expected = encoded(op, image);
  std::vector<uint8_t> out(expected.size());
  const MutView to{
      DType::bytes, {static_cast<int64_t>(out.size())}, reinterpret_cast<std::byte*>(out.data())};
  Scratch scratch;
  CallContext call(scratch);
  ASSERT_TRUE(op->run({&image, 1}, {&to, 1}, call).ok());
  EXPECT_EQ(out, expected);
}

TEST(EncodeImage, KeepsSizeAndChannels) {
  for (const char* format : {"jpeg", "png"})
    for (const int64_t channels : {1, 3}) {
      const auto pixels = pixels_of(static_cast<size_t>(17 * 9 * channels));
      const auto file =
          encoded(encoder(Value::Object{{"format", format}}), view_of_image(pixels, {17, 9, channels}));
      const auto header = read_image_header(std::as_bytes(std::span(file)));
      ASSERT_TRUE(header.ok()) << header.status().text();
      EXPECT_EQ(header->height, 17);
      EXPECT_EQ(header->width, 9);
      EXPECT_EQ(header->channels, channels);
    }
}

TEST(EncodeImage, SaysWhatItWants) {
  const TensorSpec alpha[] = {{DType::u8, {8, 8, 4}}}, floats[] = {{DType::f32, {8, 8, 3}}};
  EXPECT_EQ(encoder(Value::Object{})->infer(alpha).status().text(),
            "encode_image: expected uint8 (height, width, 1 or 3), got uint8 (8, 8, 4)");
  EXPECT_EQ(encoder(Value::Object{{"format", "png"}})->infer(floats).status().text(),
            "encode_image: expected uint8 or uint16 (height, width, 1 to 4), got float32 (8, 8, 3)");
  const TensorSpec wide[] = {{DType::u16, {8, 8, 3}}};
  EXPECT_EQ(
      encoder(Value::Object{})->infer(wide).status().text(),
      "encode_image: expected uint8 (height, width, 1 or 3), got uint16 (8, 8, 3); format=\"png\" keeps "
      "16 bits");
  EXPECT_EQ(make_op("encode_image", Value::Object{{"quality", 0}}).status().text(),
            "encode_image: quality must be from 1 to 100, got 0");
}

}  // namespace
}  // namespace headrace
