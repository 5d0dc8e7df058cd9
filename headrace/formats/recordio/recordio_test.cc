#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/formats/opening/open.h"
#include "headrace/formats/recordio/index.h"
#include "headrace/formats/recordio/testing.h"
#include "headrace/io/testing/memory_store.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kMagic = word_bytes(kRecordioMagic);

std::string text_of(const Tensor& field) {
  const auto bytes = field.view().bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// The first field of a sample, or the error.
std::string record_of(const Source& source, uint64_t index, Store& store) {
  const auto fields = read_sample(source, index, store);
  return fields.ok() ? text_of((*fields)[0]) : std::string(fields.status().text());
}

std::vector<std::string> all_of(const Source& source, Store& store) {
  std::vector<std::string> out;
  for (uint64_t i = 0; i < source.size(); ++i) out.push_back(record_of(source, i, store));
  return out;
}

std::string failure(const MemoryStore& store, const std::string& path) {
  MemoryStore copy = store;
  const auto source = open_source(copy, path);
  return source.ok() ? "opened" : std::string(source.status().text());
}

std::string idx_of(const std::vector<std::string>& records) {
  std::string out;
  size_t offset = 0, key = 0;
  for (const std::string& record : records) {
    out += std::to_string(key++) + "\t" + std::to_string(offset) + "\n";
    offset += recordio_record(record).size();
  }
  return out;
}

TEST(Recordio, RecordsThatHoldTheMagicWordComeBackWhole) {
  std::vector<std::string> records = {
      kMagic, kMagic + kMagic, "abcd" + kMagic + "efgh", "abc" + kMagic + "d", kMagic + kMagic + kMagic + "x",
      "",     "x" + kMagic,    "abcd" + kMagic};
  for (const size_t size : {1, 2, 3, 4, 5, 4087, 4088, 4089, 50'000}) records.emplace_back(size, 'y');
  records.push_back(std::string(60'000, 'z') + kMagic + std::string(20'001, 'z'));
  MemoryStore store;
  store.add("x.rec", recordio_file(records));
  const auto source = open_source(store, "x.rec");
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_EQ((*source)->schema().text(), "record: bytes");
  EXPECT_EQ(all_of(**source, store), records);
}

TEST(Recordio, ImageRecordsHaveImageLabelAndId) {
  MemoryStore store;
  store.add("x",
            recordio_file({image_record({3}, false, 7, "jpeg"), image_record({4}, false, 1u << 31, "")}));
  const auto source = open_source(store, "x");
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_EQ((*source)->schema().text(), "image: bytes, label: float32 (), id: int64 ()");
  const auto fields = read_sample(**source, 0, store), second = read_sample(**source, 1, store);
  ASSERT_TRUE(fields.ok() && second.ok());
  EXPECT_EQ(text_of((*fields)[0]), "jpeg");
  EXPECT_EQ(*(*fields)[1].view().as<float>(), 3);
  EXPECT_EQ(*(*fields)[2].view().as<int64_t>(), 7);
  EXPECT_EQ(text_of((*second)[0]), "");
  EXPECT_EQ(*(*second)[2].view().as<int64_t>(), int64_t{1} << 31);
}

TEST(Recordio, LabelsAreAsManyAsTheRecordHasOrAsAreAskedFor) {
  MemoryStore store;
  store.add("x", recordio_file({image_record({1, 2}, true, 0, "a"), image_record({1, 2, 3}, true, 1, "b"),
                                image_record({9}, false, 2, "c")}));
  const auto source = open_source(store, "x");
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_EQ((*source)->schema().text(), "image: bytes, label: float32 (?), id: int64 ()");
  EXPECT_EQ((*read_sample(**source, 1, store))[1].view().shape, (Shape{3}));
  EXPECT_EQ(*(*read_sample(**source, 2, store))[1].view().as<float>(), 9);
  Value two;
  two.set("label_width", 2);
  const auto pairs = open_source(store, "x", "recordio", two);
  ASSERT_TRUE(pairs.ok()) << pairs.status().text();
  EXPECT_EQ((*pairs)->schema().text(), "image: bytes, label: float32 (2), id: int64 ()");
  EXPECT_EQ(record_of(**pairs, 0, store), "a");
  EXPECT_THAT(record_of(**pairs, 1, store), HasSubstr("expected 2 labels, got 3; label_width=0"));
}

TEST(Recordio, TheHeaderCanBeDemandedAndRefused) {
  MemoryStore store;
  store.add("images", recordio_file({image_record({3}, false, 7, "jpeg")}));
  store.add("texts", recordio_file({"some text that is longer than a header", "a"}));
  Value with, without;
  with.set("header", true), without.set("header", false);
  EXPECT_EQ((*open_source(store, "images", "", without))->schema().text(), "record: bytes");
  const auto texts = open_source(store, "texts", "", with);
  ASSERT_TRUE(texts.ok()) << texts.status().text();
  EXPECT_THAT(record_of(**texts, 0, store), HasSubstr("header=False"));
  // Numbers that look like a header, but not all of them.
  store.add("numbers",
            recordio_file({std::string(100, '\0'), word_bytes(uint64_t{1'000'000}) + std::string(92, 'x')}));
  EXPECT_EQ((*open_source(store, "numbers"))->schema().text(), "record: bytes");
  EXPECT_EQ((*open_source(store, "numbers", "", with))->schema().text(),
            "image: bytes, label: float32 (), id: int64 ()");
  EXPECT_THAT(record_of(**texts, 1, store),
              HasSubstr("expected an IRHeader of 24 bytes, got a record of 1 bytes;"));
}

TEST(Recordio, AnIdxIsUsedWhenItIsThatOfTheFile) {
  const std::vector<std::string> records = {"one", "abcd" + kMagic + "e", std::string(9000, 'x'), "four"};
  const std::string damaged = [&] {
    std::string bytes = recordio_file(records);
    bytes[recordio_record(records[0]).size()] ^= 1;  // the magic word of the second record
    return bytes;
  }();
  MemoryStore store;
  store.add("a.rec", recordio_file(records)), store.add("a.idx", idx_of(records));
  store.add("b.rec", recordio_file(records)), store.add("b.idx", idx_of({"one", "other", "records", "x"}));
  store.add("c.rec", recordio_file(records)), store.add("c.idx", "0\t0\n3\t9999999\n");
  store.add("d.rec", recordio_file(records)), store.add("d.idx", "no index\n");
  store.add("e.rec", recordio_file(records)), store.add("e.idx", "0\t0\n1\t36\n");  // some records only
  store.add("f.rec", damaged), store.add("f.idx", idx_of(records));
  for (const char* path : {"a.rec", "b.rec", "c.rec", "d.rec", "e.rec"}) {
    const auto source = open_source(store, path);
    ASSERT_TRUE(source.ok()) << path << source.status().text();
    EXPECT_EQ(all_of(**source, store), records) << path;
  }
  const auto broken = open_source(store, "f.rec");
  ASSERT_EQ((*broken)->size(), 4u);  // the second is damage, and the others are found
  EXPECT_THAT(record_of(**broken, 1, store), HasSubstr("expected the magic word 0a 23 d7 ce"));
  EXPECT_EQ(record_of(**broken, 3, store), "four");
  EXPECT_FALSE(parse_recordio_idx("0\t0\n1\t18446744073709551615\n", 100));
  EXPECT_FALSE(parse_recordio_idx("0\t0\n1\t0\n", 100));
  EXPECT_FALSE(parse_recordio_idx("0\t0\n1\t14\n", 100));
  EXPECT_FALSE(parse_recordio_idx("1\t12\n", 100));
  EXPECT_EQ(parse_recordio_idx("7\t12\r\n0\t0\n\n", 100)->size(), 2u);
}

TEST(Recordio, WithAnIdxADamagedRecordCostsItselfOnly) {
  std::vector<std::string> records;
  for (int i = 0; i < 200; ++i) records.push_back("record " + std::to_string(i));
  std::string bytes = recordio_file(records);
  const size_t begin = recordio_file({records.begin(), records.begin() + 5}).size();
  MemoryStore store;
  store.add("x.idx", idx_of(records));
  for (const size_t at : {begin, begin + 4, begin + 7}) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x40);
    store.add("x.rec", damaged);
    const auto source = open_source(store, "x.rec");
    ASSERT_TRUE(source.ok()) << source.status().text();
    EXPECT_THAT(record_of(**source, 5, store), HasSubstr(": x.rec, record 5 at byte 80")) << at;
    EXPECT_EQ(record_of(**source, 4, store), "record 4");
    EXPECT_EQ(record_of(**source, 6, store), "record 6");
  }
}

TEST(Recordio, ManyFilesAreOneSource) {
  MemoryStore store;
  store.add("d/part-0.rec", recordio_file({"a", "b"})), store.add("d/part-0.idx", idx_of({"a", "b"}));
  store.add("d/part-1.rec", recordio_file({"c"})), store.add("d/part-1.idx", idx_of({"c"}));
  store.add("d/part.lst", "0\t1\ta.jpg\n");
  for (const char* path : {"d", "d/*.rec"}) {
    const auto source = open_source(store, path);
    ASSERT_TRUE(source.ok()) << source.status().text();
    EXPECT_THAT(all_of(**source, store), ElementsAre("a", "b", "c"));
    EXPECT_EQ((*source)->where(2).text(), "d/part-1.rec, record 0 at byte 0");
  }
}

TEST(Recordio, DamageIsToldWithItsFileRecordAndByte) {
  const auto part = recordio_part_bytes;
  const auto failed = [](const std::string& bytes) {
    MemoryStore store;
    store.add("x", recordio_record("first") + bytes + recordio_record("last"));
    const auto source = open_source(store, "x");
    EXPECT_EQ(record_of(**source, (*source)->size() - 1, store), "last");  // found again after the damage
    return record_of(**source, 1, store);
  };
  const std::string at = ": x, record 1 at byte 16";
  EXPECT_EQ(failed("none"), "expected the magic word 0a 23 d7 ce, got 6e 6f 6e 65" + at);
  EXPECT_EQ(failed("no magic"), "expected the magic word 0a 23 d7 ce, got 6e 6f 20 6d" + at);
  EXPECT_EQ(failed(kMagic + word_bytes(0x1fffffffu) + "data"),
            "expected a part of 536870911 bytes, but only 16 are left" + at);
  EXPECT_EQ(failed(part(static_cast<PartKind>(5), "data")), "expected a part of kind 0 to 3, got 5" + at);
  for (const PartKind kind : {PartKind::middle, PartKind::last})
    EXPECT_EQ(failed(part(kind, "x")), "expected the first part of a record, got one from the middle" + at);
  for (const PartKind kind : {PartKind::whole, PartKind::first})
    EXPECT_EQ(failed(part(PartKind::first, "x") + part(kind, "y")),
              "expected the next part of the record, got the first of another" + at);
}

TEST(Recordio, AFileThatEndsInARecordGivesTheOthers) {
  MemoryStore store;
  store.add("x", recordio_record("first") + recordio_part_bytes(PartKind::first, "x"));
  store.add("y", recordio_record("first") + "none");
  auto source = open_source(store, "x");
  ASSERT_EQ((*source)->size(), 2u);
  EXPECT_EQ(record_of(**source, 1, store),
            "expected the next part of the record, but the file ends: x, record 1 at byte 16");
  source = open_source(store, "y");
  EXPECT_EQ(record_of(**source, 1, store),
            "expected a header of 8 bytes, but only 4 are left: y, record 1 at byte 16");
  const std::string padded = recordio_record("first") + recordio_record("12345");
  store.add("cut", padded.substr(0, padded.size() - 1));
  source = open_source(store, "cut");
  EXPECT_EQ(record_of(**source, 1, store),
            "expected a part of 8 bytes with its padding, but only 7 are left: cut, record 1 at byte 16");
  store.add("shorter", padded.substr(0, padded.size() - 4));
  source = open_source(store, "shorter");
  EXPECT_EQ(record_of(**source, 1, store),
            "expected a part of 5 bytes, but only 4 are left: shorter, record 1 at byte 16");
  store.add("z", "none");
  EXPECT_THAT(std::string(open_source(store, "z", "recordio").status().text()),
              HasSubstr("'z': expected a header of 8 bytes, but only 4 are left (record 0 at byte 0)"));
}

TEST(Recordio, ImagesThatAreShorterThanTheirLabelsAreRefused) {
  std::string hostile = image_record({1}, false, 0, "image");
  hostile.replace(0, 4, word_bytes(uint32_t{0xffffffff}));
  MemoryStore store;
  store.add("x",
            recordio_file({image_record({1, 2}, true, 0, "i"), hostile, image_record({1, 2}, true, 2, "k")}));
  const auto source = open_source(store, "x");
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_THAT(record_of(**source, 1, store),
              HasSubstr("expected 4294967295 labels, but only 5 bytes are left"));
  EXPECT_EQ(record_of(**source, 2, store), "k");
}

TEST(Recordio, WhatIsNoneIsNotRecognised) {
  MemoryStore store;
  store.add("x", "no records here");
  store.add("y", kMagic + word_bytes(uint32_t{100}) + "x");
  store.add("z", recordio_part_bytes(PartKind::middle, "x"));
  for (const char* path : {"x", "y", "z"})
    EXPECT_THAT(failure(store, path), HasSubstr("expected data of a known format")) << path;
}

}  // namespace
}  // namespace headrace
