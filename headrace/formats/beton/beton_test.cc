#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/codecs/codec.h"
#include "headrace/codecs/image.h"
#include "headrace/formats/beton/testing.h"
#include "headrace/formats/opening/open.h"
#include "headrace/io/testing/memory_store.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

std::string text_of(const Tensor& field) {
  const auto bytes = field.view().bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Images of 3 x 2 pixels; those with the letter R are stored as pixels.
BetonTestFile images_of(const std::string& kinds) {
  BetonTestFile file;
  file.fields = {beton_field(2, "image")};
  file.num_samples = kinds.size();
  uint64_t at = BetonTestFile::data_begin(1, kinds.size() * 13);
  for (size_t i = 0; i < kinds.size(); ++i) {
    const bool is_raw = kinds[i] == 'R';
    const std::string image = is_raw ? "abcdefghijklmnopqr" : "a JPEG";
    file.records += beton_image_slot(is_raw, 3, 2, at);
    file.allocations.push_back({i, at, image.size()});
    file.data += image, at += image.size();
  }
  return file;
}

Result<SourcePtr> opened(MemoryStore& store, const std::string& bytes, const Value& options = {}) {
  store.add("x.beton", bytes);
  return open_source(store, "x.beton", "beton", options);
}

std::string failure(const std::string& bytes) {
  MemoryStore store;
  const auto source = opened(store, bytes);
  if (!source.ok()) return std::string(source.status().text());
  const auto fields = read_sample(**source, 0, store);
  return fields.ok() ? "read" : std::string(fields.status().text());
}

template <class T> std::string with(std::string bytes, size_t at, T value) {
  return bytes.replace(at, sizeof value, beton_bytes(value));
}

TEST(Beton, ImagesArePixelsWhereAllAreStoredSo) {
  MemoryStore store;
  Value encoded;
  encoded.set("images", "encoded");
  EXPECT_EQ((*opened(store, images_of("RR").bytes()))->schema().text(), "image: uint8 (2, 3, 3)");
  EXPECT_EQ((*opened(store, images_of("JJ").bytes()))->schema().text(), "image: bytes");
  EXPECT_EQ((*opened(store, images_of("RJ").bytes()))->schema().text(), "image: bytes");
  EXPECT_EQ((*opened(store, images_of("RR").bytes(), encoded))->schema().text(), "image: bytes");
  BetonTestFile other = images_of("RR");
  other.records.replace(13, 5, beton_image_slot(true, 2, 3, 0).substr(0, 5));
  EXPECT_EQ((*opened(store, other.bytes()))->schema().text(), "image: uint8 (?, ?, 3)");
}

TEST(Beton, StoredPixelsAmongFilesAreABmpOfThem) {
  MemoryStore store;
  const auto source = opened(store, images_of("RJ").bytes());
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_EQ(text_of((*read_sample(**source, 1, store))[0]), "a JPEG");
  const std::string bmp = text_of((*read_sample(**source, 0, store))[0]);
  ASSERT_EQ(bmp.size(), 54u + 2 * 12);
  EXPECT_EQ(bmp.substr(0, 2), "BM");
  EXPECT_EQ(bmp.substr(54, 12), std::string("cbafedihg\0\0\0", 12));
  const auto header = read_image_header(std::as_bytes(std::span(bmp)));
  ASSERT_TRUE(header.ok()) << header.status().text();
  EXPECT_EQ(header->width, 3);
  EXPECT_EQ(header->height, 2);
}

TEST(Beton, WhatIsNotReadIsRefusedByItsName) {
  BetonTestFile file = images_of("J");
  file.fields = {beton_field(6, "mask")};
  EXPECT_THAT(failure(file.bytes()), HasSubstr("field 'mask': expected a float, an int"));
  file.fields = {beton_field(255, "own")};
  EXPECT_THAT(failure(file.bytes()), HasSubstr("a field of the user's own class"));
  file.fields = {beton_field(4, "x", beton_array_args({2}, R"([["", ">f4"]])"))};
  EXPECT_THAT(failure(file.bytes()), HasSubstr("expected an array of little-endian numbers"));
}

TEST(Beton, NumbersAreCheckedAgainstTheFile) {
  const std::string good = images_of("RJ").bytes();
  EXPECT_EQ(failure(good), "read");
  EXPECT_THAT(failure(with(good, 0, uint16_t{3})), HasSubstr("expected version 2 at byte 0, got 3"));
  EXPECT_THAT(failure(with(good, 4, uint32_t{4097})),
              HasSubstr("expected a page size that is a power of two"));
  EXPECT_THAT(failure(with(good, 8, ~uint64_t{0})), HasSubstr("samples do not fit into a file of"));
  EXPECT_THAT(failure(with(good, 8, uint64_t{60})), HasSubstr("expected 60 records of 13 bytes"));
  EXPECT_THAT(failure(with(good, 16, uint64_t{8})), HasSubstr("expected a table of allocations from byte 8"));
  const size_t record = 24 + 1041;
  EXPECT_THAT(failure(with(good, record + 1, uint16_t{500})),
              HasSubstr("of sample 0: expected 3000 bytes of pixels, got 18"));
  EXPECT_THAT(failure(with(good, record + 5, uint64_t{7})),
              HasSubstr("expected an allocation at byte 7, but the table has none"));
  const size_t table = good.size() - 2 * 24;
  std::string beyond = with(good, record + 5, ~uint64_t{0} - 4);
  beyond = with(beyond, table + 8, ~uint64_t{0} - 4);
  EXPECT_THAT(failure(beyond), HasSubstr("expected 18 bytes at byte 18446744073709551611, but the file has"));
}

TEST(Beton, ArraysThatOverflowAreRefused) {
  BetonTestFile file = images_of("J");
  const uint64_t many = uint64_t{1} << 32;
  file.fields = {beton_field(4, "x", beton_array_args({many, many, many}, "\"<f8\""))};
  EXPECT_THAT(failure(file.bytes()), HasSubstr("expected an array of at most 2 GiB"));
  file.fields = {beton_field(4, "x", beton_array_args({many + 1}, "\"<f8\""))};
  EXPECT_THAT(failure(file.bytes()), HasSubstr("at most 8 dimensions below 2^32"));
}

}  // namespace
}  // namespace headrace
