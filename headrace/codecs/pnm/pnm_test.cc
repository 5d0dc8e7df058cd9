#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "headrace/codecs/image.h"

namespace headrace {
namespace {

template <class T> struct Decoded {
  ImageHeader header;
  std::vector<T> pixels;
};

template <class T>
Result<Decoded<T>> decode_as(const std::string& file, Color color, DType dtype, Box part = {}) {
  const auto bytes = std::as_bytes(std::span(file));
  HEADRACE_ASSIGN(const ImageHeader header, read_image_header(bytes));
  const auto count = static_cast<size_t>(header.width * decoded_channels(header, color));
  std::vector<T> pixels(count * static_cast<size_t>(header.height), T{7});
  Scratch scratch;
  HEADRACE_TRY(decode_samples(bytes, header, color, dtype, part.h == 0 ? header.whole() : part,
                              reinterpret_cast<std::byte*>(pixels.data()), count * sizeof(T), scratch));
  return Decoded<T>{header, pixels};
}

std::vector<uint8_t> decode(const std::string& file, Color color = Color::unchanged) {
  const auto decoded = decode_as<uint8_t>(file, color, DType::u8);
  EXPECT_TRUE(decoded.ok()) << decoded.status().text();
  return decoded.ok() ? decoded->pixels : std::vector<uint8_t>();
}

std::string refusal(const std::string& file) {
  return std::string(decode_as<uint8_t>(file, Color::unchanged, DType::u8).status().text());
}

using Bytes = std::vector<uint8_t>;
using Words = std::vector<uint16_t>;

TEST(Pnm, PlainAndRawFilesHoldTheSame) {
  const Bytes bits{0, 255, 0, 255, 255, 255, 0, 0, 0, 255};
  EXPECT_EQ(decode("P1 5 2\n10100\n0 1 1 1 0\n"), bits);
  EXPECT_EQ(decode(std::string("P4\n5 2\n\xa0\x70", 9)), bits);
  const Bytes gray{0, 100, 255, 3};
  EXPECT_EQ(decode("P2\n# a comment 1 2 3\n2 2 # another\n255\n0 100\n255 3"), gray);
  EXPECT_EQ(decode(std::string("P5 2 2 255\n\0\x64\xff\x03", 15)), gray);
  const Bytes rgb{1, 2, 3, 4, 5, 6};
  EXPECT_EQ(decode("P3 2 1 255 1 2 3 4 5 6"), rgb);
  EXPECT_EQ(decode("P6\r2\t1\n255\n\1\2\3\4\5\6 and more"), rgb);
  EXPECT_EQ(decode("P3 2 1 255 1 2 3 4 5 6", Color::gray), (Bytes{2, 5}));
}

// As Pillow does: 7 of 15 is 119 of 255.
TEST(Pnm, FewBitsAreScaledButForMasks) {
  const std::string file = "P2 4 1 15 0 7 8 15";
  EXPECT_EQ(decode(file), (Bytes{0, 119, 136, 255}));
  EXPECT_EQ(decode(file, Color::index), (Bytes{0, 7, 8, 15}));
  EXPECT_EQ(decode_as<uint16_t>(file, Color::index, DType::u16)->pixels, (Words{0, 7, 8, 15}));
  EXPECT_EQ(decode_as<uint8_t>(file, Color::index, DType::u8)->header.bit_depth, 4);
}

TEST(Pnm, SixteenBitsAreKeptAndNarrowedToTheHighOnes) {
  const std::string raw("P5\n3 2\n65535\n\x00\x00\x00\xff\x01\x00\x03\xe8\xfe\xff\xff\xff", 25);
  const Words numbers{0, 255, 256, 1000, 65279, 65535};
  const auto wide = decode_as<uint16_t>(raw, Color::unchanged, DType::u16);
  ASSERT_TRUE(wide.ok()) << wide.status().text();
  EXPECT_EQ(wide->pixels, numbers);
  EXPECT_EQ(wide->header.dtype, DType::u16);
  EXPECT_EQ(wide->header.bit_depth, 16);
  EXPECT_EQ(decode(raw), (Bytes{0, 0, 1, 3, 254, 255}));
  EXPECT_EQ(decode_as<uint16_t>("P2 3 2 65535 0 255 256 1000 65279 65535", Color::index, DType::u16)->pixels,
            numbers);
  // A greatest number that is no power of two: 1000 is white.
  const auto odd = decode_as<uint16_t>("P3 1 1 1000 0 500 1000", Color::rgb, DType::u16);
  EXPECT_EQ(odd->pixels, (Words{0, 500, 1000}));
  EXPECT_EQ(odd->header.bit_depth, 10);
  EXPECT_EQ(decode("P3 1 1 1000 0 500 1000"), (Bytes{0, 127, 255}));
  EXPECT_EQ(decode_as<uint16_t>("P3 1 1 1000 0 500 1000", Color::gray, DType::u16)->pixels, (Words{408}));
}

TEST(Pnm, FloatsComeAsTheyAreWithTheFirstRowOnTop) {
  const float stored[] = {3, -4.5f, 1e9f, 0.25f};  // the last row first
  std::string file = "Pf\n2 2\n-0.5\n";
  file.append(reinterpret_cast<const char*>(stored), sizeof stored);
  const auto floats = decode_as<float>(file, Color::unchanged, DType::f32);
  ASSERT_TRUE(floats.ok()) << floats.status().text();
  EXPECT_EQ(floats->pixels, (std::vector<float>{1e9f, 0.25f, 3, -4.5f}));
  EXPECT_EQ(decode(file), (Bytes{255, 64, 255, 0}));
  const std::string big("PF 1 1 1.0\n\x3f\x80\0\0\x40\0\0\0\x40\x40\0\0", 23);
  EXPECT_EQ(decode_as<float>(big, Color::rgb, DType::f32)->pixels, (std::vector<float>{1, 2, 3}));
}

TEST(Pnm, APartEqualsThatPartOfTheWhole) {
  const std::string files[] = {"P2 3 3 999 0 1 2 3 4 5 6 7 8", "P1 3 3 101 010 111",
                               std::string("P5 3 3 65535\n\0\0\0\1\0\2\0\3\0\4\0\5\0\6\0\7\0\x08", 31)};
  for (const std::string& file : files) {
    const DType dtype = read_image_header(std::as_bytes(std::span(file)))->dtype;
    const Box part{1, 1, 2, 2};
    if (dtype == DType::u16) {
      const auto whole = decode_as<uint16_t>(file, Color::unchanged, dtype)->pixels;
      const auto cut = decode_as<uint16_t>(file, Color::unchanged, dtype, part)->pixels;
      for (const size_t at : {4u, 5u, 7u, 8u}) EXPECT_EQ(cut[at], whole[at]) << file;
    } else {
      const auto whole = decode(file);
      const auto cut = decode_as<uint8_t>(file, Color::unchanged, dtype, part)->pixels;
      for (const size_t at : {4u, 5u, 7u, 8u}) EXPECT_EQ(cut[at], whole[at]) << file;
    }
  }
}

TEST(Pnm, DamageIsRefusedByName) {
  EXPECT_EQ(refusal("P5 4 4 255\nabc"), "truncated PNM: 14 bytes cannot hold 4 x 4 pixels");
  EXPECT_EQ(refusal("P2 60000 60000 255\n1 2"), "truncated PNM: 22 bytes cannot hold 60000 x 60000 pixels");
  EXPECT_EQ(refusal("P2 2 1 255 7 3000"), "damaged PNM: expected samples up to 255, got 3000");
  EXPECT_EQ(refusal("P5 2 1 100\nae"), "damaged PNM: expected samples up to 100, got 101");
  EXPECT_EQ(refusal("P2 2 1 255 7 x1"), "damaged PNM: a sample that is no number");
  EXPECT_EQ(refusal("P2 2 1 255 7    "), "truncated PNM: its numbers end early");
  EXPECT_EQ(refusal("P5 2 1 70000\n...."),
            "damaged PNM: expected a greatest number from 1 to 65535 after the size");
  EXPECT_EQ(refusal("Pf 1 1 0\n...."), "damaged PFM: expected a factor other than 0 after the size");
  EXPECT_EQ(refusal("P5 0 1 255\n...."), "an image without pixels: 1 x 0");
  EXPECT_EQ(refusal("P5 99999999999 1 255\n...."), "damaged PNM: expected width and height after P5");
  EXPECT_EQ(refusal("P6 is a kind"), "not an image (starts with 'P6 i…')");
  EXPECT_TRUE(refusal("P7\nWIDTH 2\n").ends_with("got PAM"));
}

}  // namespace
}  // namespace headrace
