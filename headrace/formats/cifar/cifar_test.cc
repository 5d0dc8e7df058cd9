#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/formats/opening/open.h"
#include "headrace/io/testing/memory_store.h"
#include "tests/sources/conformance.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

// The planes of a record, and the pixels of its sample.
std::string planes(int i) {
  std::string out;
  for (int at = 0; at < 3072; ++at) out += static_cast<char>((at * 7 + i * 31) % 251);
  return out;
}
std::string pixels(int i) {
  const std::string from = planes(i);
  std::string out;
  for (size_t at = 0; at < 1024; ++at)
    for (size_t color = 0; color < 3; ++color) out += from[1024 * color + at];
  return out;
}
std::string label_text(int64_t label) { return {reinterpret_cast<const char*>(&label), sizeof label}; }

std::string ten(int first, int count) {
  std::string out;
  for (int i = first; i < first + count; ++i) out += static_cast<char>(i % 10) + planes(i);
  return out;
}
std::string hundred(int count) {
  std::string out;
  for (int i = 0; i < count; ++i)
    out += std::string{static_cast<char>(i), static_cast<char>(90 + i)} + planes(i);
  return out;
}

TEST(Cifar, IsRecognisedByNameSizeAndLabels) {
  MemoryStore store;
  store.add("a/data_batch_1.bin", ten(0, 3)), store.add("a/data_batch_2.bin", ten(3, 2));
  EXPECT_EQ((*open_source(store, "a"))->size(), 5u);
  EXPECT_EQ((*open_source(store, "a/data_batch_*.bin"))->schema().text(),
            "image: uint8 (32, 32, 3), label: int64 ()");
  store.add("data_batch_1.bin", ten(0, 3) + "x");
  EXPECT_THAT(open_source(store, "data_batch_1.bin").status().text(),
              HasSubstr("expected data of a known format"));
  store.add("other.bin", ten(0, 3));
  EXPECT_FALSE(open_source(store, "other.bin").ok());
  EXPECT_TRUE(open_source(store, "other.bin", "cifar").ok());
  store.add("a/test_batch.bin", ten(0, 1));
  EXPECT_THAT(open_source(store, "a").status().text(), HasSubstr("contains the splits \"test\", \"train\""));
}

TEST(Cifar, SizesSayHowManyClassesThereAre) {
  MemoryStore store;
  store.add("x", hundred(3)), store.add("empty", ""), store.add("cut", hundred(3).substr(1));
  const auto source = open_source(store, "x", "cifar");
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_EQ((*source)->schema().text(), "image: uint8 (32, 32, 3), label: int64 (), coarse_label: int64 ()");
  EXPECT_THAT(open_source(store, "empty", "cifar").status().text(),
              HasSubstr("choose with classes=10 or classes=100"));
  EXPECT_THAT(open_source(store, "cut", "cifar").status().text(),
              HasSubstr("expected whole records of 3073 bytes, got 9221 bytes"));
  Value options;
  options.set("classes", 11);
  EXPECT_THAT(open_source(store, "x", "cifar", options).status().text(),
              HasSubstr("must be 10 or 100, got 11"));
}

}  // namespace

namespace trial {
namespace {

Value classes(int64_t count) {
  Value out;
  out.set("classes", count);
  return out;
}

SourceCase cifar_10() {
  SourceCase out;
  out.files = {{"d/data_batch_1.bin", ten(0, 1)}, {"d/data_batch_2.bin", ten(1, 1)}};
  for (int i = 0; i < 2; ++i)
    out.samples.push_back(field_text(DType::u8, {32, 32, 3}, pixels(i)) +
                          field_text(DType::i64, {}, label_text(i)));
  out.open = by_registered_format("cifar", classes(10));
  out.cut = Cut::is_not_seen;  // a file that ends with a record is whole
  return out;
}

SourceCase cifar_100() {
  SourceCase out;
  out.files = {{"d/train.bin", hundred(2)}};
  for (int i = 0; i < 2; ++i)
    out.samples.push_back(field_text(DType::u8, {32, 32, 3}, pixels(i)) +
                          field_text(DType::i64, {}, label_text(90 + i)) +
                          field_text(DType::i64, {}, label_text(i)));
  out.open = by_registered_format("cifar", classes(100));
  out.cut = Cut::is_not_seen;
  return out;
}
INSTANTIATE_TEST_SUITE_P(Cifar, SourceConformance, ::testing::Values(cifar_10, cifar_100));

}  // namespace
}  // namespace trial
}  // namespace headrace
