#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/codecs/deflate/testing.h"
#include "headrace/formats/opening/open.h"
#include "headrace/io/testing/memory_store.h"
#include "tests/sources/conformance.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Value sizes(int64_t record, int64_t header = 0, int64_t footer = 0) {
  Value out;
  out.set("record_bytes", record), out.set("header_bytes", header), out.set("footer_bytes", footer);
  return out;
}

std::vector<std::string> records_of(const std::string& bytes, const Value& options) {
  MemoryStore store;
  store.add("x", bytes);
  const auto source = open_source(store, "x", "fixed", options);
  if (!source.ok()) return {std::string(source.status().text())};
  std::vector<std::string> out;
  for (uint64_t i = 0; i < (*source)->size(); ++i) {
    const auto fields = read_sample(**source, i, store);
    if (!fields.ok()) return {std::string(fields.status().text())};
    const auto record = (*fields)[0].view().bytes();
    out.emplace_back(reinterpret_cast<const char*>(record.data()), record.size());
  }
  return out;
}

TEST(Fixed, RecordsLieBetweenHeaderAndFooter) {
  EXPECT_THAT(records_of("aabbcc", sizes(2)), ElementsAre("aa", "bb", "cc"));
  EXPECT_THAT(records_of("HHHabcabcFF", sizes(3, 3, 2)), ElementsAre("abc", "abc"));
  EXPECT_THAT(records_of("HHHFF", sizes(3, 3, 2)), IsEmpty());
  EXPECT_THAT(records_of("", sizes(3)), IsEmpty());
}

TEST(Fixed, DeflatedFilesAreReadWhenSaid) {
  Value options = sizes(3, 3, 2);
  const std::string packed = deflated("HHHabcdefFF", Wrap::gzip);
  EXPECT_THAT(records_of(packed, options)[0],
              ::testing::HasSubstr("it begins like gzip: read it with compression=\"gzip\""));
  options.set("compression", "gzip");
  EXPECT_THAT(records_of(packed, options), ElementsAre("abc", "def"));
}

TEST(Fixed, WhatIsNoWholeNumberOfRecordsIsRefused) {
  EXPECT_THAT(
      records_of("aabbc", sizes(2, 1, 1)),
      ElementsAre(
          "fixed: 'x': expected whole records of 2 bytes between a header of 1 byte and a footer of 1 "
          "byte, got 5 bytes"));
  EXPECT_THAT(records_of("aa", sizes(1, 2, 1))[0], ::testing::HasSubstr("got 2 bytes"));
  EXPECT_THAT(records_of("aa", sizes(0)), ElementsAre("fixed: 'x': record_bytes must be at least 1, got 0"));
  EXPECT_THAT(records_of("aa", sizes(1, -1)),
              ElementsAre("fixed: 'x': header_bytes must be at least 0, got -1"));
}

TEST(Fixed, WhichBytesAreLeftOutIsPartOfTheFingerprint) {
  MemoryStore store;
  store.add("x", "aabbcc");
  EXPECT_NE((*open_source(store, "x", "fixed", sizes(2, 2)))->fingerprint(),
            (*open_source(store, "x", "fixed", sizes(2, 0, 2)))->fingerprint());
}

}  // namespace

namespace trial {
namespace {

SourceCase fixed_files() {
  SourceCase out;
  out.files = {{"d/a.bin", "HEADonetwosixF"}, {"d/b.bin", "HEADtenF"}};
  for (const char* record : {"one", "two", "six", "ten"})
    out.samples.push_back(field_text(DType::bytes, {3}, record));
  out.open = by_registered_format("fixed", sizes(3, 4, 1));
  out.cut = Cut::is_not_seen;  // a file that ends with a record is whole
  return out;
}
INSTANTIATE_TEST_SUITE_P(Fixed, SourceConformance, ::testing::Values(fixed_files));

}  // namespace
}  // namespace trial
}  // namespace headrace
