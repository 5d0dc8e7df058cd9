#include "headrace/codecs/image.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "headrace/core/stop_flag.h"
#include "tests/oracle/small_images.h"

namespace headrace {
namespace {

using testing::kGrayJpeg;
using testing::kPalettePng;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

std::string refusal(std::string_view file) {
  return std::string(read_image_header(bytes_of(file)).status().text());
}

Result<std::vector<uint8_t>> decode(std::string_view file, Color color) {
  HEADRACE_ASSIGN(const ImageHeader header, read_image_header(bytes_of(file)));
  const auto row = static_cast<size_t>(header.width * decoded_channels(header, color));
  std::vector<uint8_t> pixels(row * static_cast<size_t>(header.height));
  Scratch scratch;
  HEADRACE_TRY(decode_image(bytes_of(file), header, color, header.whole(), pixels.data(), row, scratch));
  return pixels;
}

TEST(Image, DecodingEndsWhenTheRunIsStopped) {
  for (const std::string_view file : {kGrayJpeg, kPalettePng}) {
    const auto header = read_image_header(bytes_of(file));
    ASSERT_TRUE(header.ok());
    std::vector<uint8_t> pixels(3 * 64);
    const auto row = static_cast<size_t>(header->width * 3);
    StopFlag stop;
    Scratch scratch(nullptr, &stop);
    const auto run = [&] {
      return decode_image(bytes_of(file), *header, Color::rgb, header->whole(), pixels.data(), row, scratch);
    };
    EXPECT_TRUE(run().ok());
    stop.raise();
    EXPECT_EQ(run().code(), Code::cancelled);
    stop.lower();
    EXPECT_TRUE(run().ok());
  }
}

TEST(Image, WhatIsNoImageIsNamed) {
  EXPECT_EQ(refusal(""), "not an image (0 bytes)");
  EXPECT_EQ(refusal("hello, world"), "not an image (starts with 'hell…')");
  EXPECT_EQ(refusal("hi"), "not an image (starts with 'hi')");
  EXPECT_EQ(refusal({"\x00\x01\xfe\xff\x00", 5}), "not an image (starts with bytes 00 01 fe ff)");
  const std::string heif =
      refusal({"\0\0\0\x18"
               "ftypheic",
               12});
  EXPECT_TRUE(heif.starts_with("expected an image of a format that this build supports (")) << heif;
  EXPECT_EQ(heif.substr(heif.size() - 10), ", got HEIF");
}

TEST(Image, HeadersThatTheirFileCannotHoldAreRefused) {
  EXPECT_EQ(refusal({"\xff\xd8\xff\xc0\0\x0b\x08\x7f\xff\x7f\xff\x01\x01\x11\0", 15}),
            "truncated JPEG: 15 bytes cannot hold 32767 x 32767 pixels");
  std::string png(kPalettePng);
  png[17] = png[21] = '\x01';  // 65538 x 65537 pixels of 2 bits
  EXPECT_EQ(refusal(png).substr(0, 43), "expected sides of at most 65500 pixels, got");
}

TEST(Image, UnsupportedKindsOfJpegSayWhy) {
  EXPECT_EQ(refusal({"\xff\xd8\xff\xc3\0\x0b\x08\0\x08\0\x08\x01\x01\x11\0", 15}),
            "expected a baseline or progressive JPEG, got a lossless or hierarchical one (SOF3)");
  EXPECT_EQ(refusal({"\xff\xd8\xff\xc1\0\x0b\x0c\0\x08\0\x08\x01\x01\x11\0", 15}),
            "expected a JPEG of 8 bits, got 12");
  EXPECT_EQ(refusal({"\xff\xd8\xff\xc0\0\x0b\x08\0\x08\0\x08\x02\x01\x11\0", 15}),
            "expected a JPEG of 1, 3 or 4 components, got 2");
  EXPECT_EQ(refusal({"\xff\xd8\xff\xf7\0\x0b\x08\0\x08\0\x08\x01\x01\x11\0", 15}),
            "expected a baseline or progressive JPEG, got JPEG-LS");
  EXPECT_EQ(refusal({"\xff\xd8\xff\xd9", 4}), "damaged JPEG: no frame header");
  EXPECT_EQ(refusal({"\xff\xd8\xff", 3}), "truncated JPEG: ends before its frame header");
}

TEST(Image, APaletteIsExpandedAndItsTransparencyIsAlpha) {
  const auto header = read_image_header(bytes_of(kPalettePng));
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->channels, 4);
  EXPECT_EQ(header->bit_depth, 2);
  EXPECT_EQ(*decode(kPalettePng, Color::unchanged), (std::vector<uint8_t>{1, 2, 3, 9, 4, 5, 6, 255}));
  EXPECT_EQ(*decode(kPalettePng, Color::rgb), (std::vector<uint8_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(*decode(kPalettePng, Color::gray), (std::vector<uint8_t>{2, 5}));
}

TEST(Image, GrayJpegAskedAsRgbIsReplicated) {
  const auto gray = decode(kGrayJpeg, Color::gray), rgb = decode(kGrayJpeg, Color::rgb);
  ASSERT_TRUE(gray.ok()) << gray.status().text();
  ASSERT_TRUE(rgb.ok()) << rgb.status().text();
  ASSERT_EQ(gray->size(), 64u);
  for (size_t i = 0; i < 64; ++i)
    for (size_t c = 0; c < 3; ++c) EXPECT_EQ((*rgb)[3 * i + c], (*gray)[i]);
}

// Every prefix of a file is refused, except those that lack only the end marker.
TEST(Image, CutOffFilesAreRefusedAndNotFilledUp) {
  for (const std::string_view file : {kGrayJpeg, kPalettePng}) {
    const auto whole = decode(file, Color::rgb);
    ASSERT_TRUE(whole.ok()) << whole.status().text();
    for (size_t size = 0; size < file.size(); ++size) {
      const auto part = decode(file.substr(0, size), Color::rgb);
      if (part.ok())
        EXPECT_EQ(*part, *whole) << size << " bytes of " << file.size();
      else
        EXPECT_EQ(part.status().code(), Code::corrupt) << part.status().text();
    }
    EXPECT_FALSE(decode(file.substr(0, file.size() - 20), Color::rgb).ok());
  }
}

TEST(Image, AWrongChecksumIsAnError) {
  std::string png(kPalettePng);
  png[41] ^= 1;  // the first colour of the palette
  EXPECT_EQ(std::string(decode(png, Color::rgb).status().text()).substr(0, 13), "damaged PNG: ");
}

}  // namespace
}  // namespace headrace
