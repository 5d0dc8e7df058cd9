#include "headrace/codecs/png/png.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "headrace/codecs/png/testing.h"
#include "headrace/core/pool.h"

namespace headrace {
namespace {

using png::testing::chunk;
using png::testing::packed;
using png::testing::word;

// RGBA of 8 bits, in pieces of the given number of bytes, with an IHDR that ends in these bytes.
std::string png_of(size_t height, size_t width, const std::string& methods, size_t piece) {
  std::string rows(height * width * 9, '\0');  // enough for all passes
  for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<char>(i * i / 7 % 5);  // only filters 0 to 4
  if (methods[2] == 0) rows.resize(height * (1 + 4 * width));
  if (methods[2] == 1) rows.resize(height * width * 4 + 15 * height / 8);  // of multiples of 8
  const std::string data = packed(rows, 6);
  std::string out = "\x89PNG\r\n\x1a\n" + chunk("IHDR", word(width) + word(height) + "\x08\x06" + methods);
  for (size_t at = 0; at < data.size(); at += piece) out += chunk("IDAT", data.substr(at, piece));
  return out + chunk("IEND", "");
}

Status decode(const std::string& file, Color color, Pool* pool, std::vector<uint8_t>& pixels) {
  const auto bytes = std::as_bytes(std::span(file));
  const auto header = read_image_header(bytes);
  if (!header.ok()) return header.status();
  const auto row = static_cast<size_t>(header->width * decoded_channels(*header, color));
  pixels.assign(row * static_cast<size_t>(header->height), 0);
  Scratch scratch(pool);
  return decode_image(bytes, *header, color, header->whole(), pixels.data(), row, scratch);
}

const std::string kStored{"\0\0\0", 3}, kInterlaced{"\0\0\1", 3};

// However little memory there is: the same pixels, or an error that there is too little.
TEST(Png, MemoryDecidesNothingButWhetherThereIsAnAnswer) {
  for (const std::string& methods : {kStored, kInterlaced})
    for (const size_t piece : {100u, 1'000'000u})
      for (const Color color : {Color::rgb, Color::gray, Color::unchanged}) {
        const std::string file = png_of(64, 80, methods, piece);
        std::vector<uint8_t> expected, made;
        ASSERT_TRUE(decode(file, color, nullptr, expected).ok());
        bool was_done = false;
        for (size_t budget = 500; budget < 60'000; budget += 500) {
          const auto pool = Pool::make(budget);
          const Status status = decode(file, color, pool.get(), made);
          EXPECT_EQ(pool->ledger().in_use, 0u);
          EXPECT_TRUE(status.ok() || status.code() == Code::exhausted) << status.text();
          EXPECT_TRUE(!status.ok() || made == expected);
          EXPECT_TRUE(status.ok() || !was_done) << budget;  // more is never worse
          was_done = was_done || status.ok();
        }
        EXPECT_TRUE(was_done);
      }
}

// A length that no encoder writes: zlib refuses it, libdeflate does not.
TEST(Png, AStreamThatOneLibraryRefusesIsNotRefusedForLackOfMemory) {
  const std::string file = []() {
    std::string out;
    const std::string hex =
        "89504e470d0a1a0a0000000d4948445200000103000000010800000000ff0594a80000000b49444154780163601f030099db"
        "07169f0c32f00000000049454e44ae426082";
    for (size_t i = 0; i < hex.size(); i += 2)
      out += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
    return out;
  }();
  std::vector<uint8_t> pixels;
  ASSERT_TRUE(decode(file, Color::unchanged, nullptr, pixels).ok());
  for (size_t budget = 10; budget < 4'000; budget += 10) {
    const auto pool = Pool::make(budget);
    const Status status = decode(file, Color::unchanged, pool.get(), pixels);
    EXPECT_TRUE(status.ok() || status.code() == Code::exhausted) << budget << ": " << status.text();
  }
}

// Filter method 64 is MNG's, which is not supported.
TEST(Png, OtherMethodsAreRefused) {
  std::vector<uint8_t> pixels;
  for (const size_t at : {0u, 1u}) {
    std::string methods = kStored;
    methods[at] = 64;
    EXPECT_EQ(decode(png_of(8, 8, methods, 1'000), Color::rgb, nullptr, pixels).code(), Code::corrupt);
  }
}

}  // namespace
}  // namespace headrace
