#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/codecs/deflate/testing.h"
#include "headrace/formats/open.h"
#include "headrace/formats/webdataset/testing.h"
#include "headrace/io/testing/memory_store.h"

namespace headrace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string text_of(const Tensor& field) {
  if (field.dtype == DType::i64) return std::to_string(*field.view().as<int64_t>());
  const auto bytes = field.view().bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::string> sample_of(const Source& source, uint64_t index, Store& store) {
  const auto fields = read_sample(source, index, store);
  if (!fields.ok()) return {std::string(fields.status().text())};
  std::vector<std::string> out;
  for (const Tensor& field : *fields) out.push_back(text_of(field));
  return out;
}

Result<SourcePtr> opened(MemoryStore& store, const std::string& tar, const Value& options = {}) {
  store.add("x.tar", tar);
  return open_source(store, "x.tar", "", options);
}

std::string error_of(const std::string& tar, const Value& options = {}) {
  MemoryStore store;
  return std::string(opened(store, tar, options).status().text());
}

Value fields(const std::vector<std::string>& names) {
  Value out;
  out.set("fields", Value::List(names.begin(), names.end()));
  return out;
}

TEST(Webdataset, ConsecutiveMembersOfOneKeyAreASample) {
  const std::string tar = tar_member("d", "", '5') + tar_member("d/a.jpg", "A") +
                          tar_member("d/a.CLS", " 7\n") + tar_member("d/README", "no sample's") +
                          tar_member("d/a.seg.png", "S") + tar_member("d/b.cls", "-3") +
                          tar_member("__meta__/b.jpg", "no") + tar_member("d/b.link", "", '2') +
                          tar_member("d/b.Seg.PNG", std::string(600, 'T')) + tar_member("d/b.jpg", "B") +
                          tar_member("d/a.jpg", "again") + tar_member("d/a.cls", "+1") +
                          tar_member("d/a.seg.png", "") + tar_end() + "what is behind";
  MemoryStore store;
  const auto source = opened(store, tar);
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_EQ((*source)->schema().text(), "__key__: str, jpg: bytes, cls: i64 (), seg.png: bytes");
  ASSERT_EQ((*source)->size(), 3u);
  EXPECT_THAT(sample_of(**source, 0, store), ElementsAre("d/a", "A", "7", "S"));
  EXPECT_THAT(sample_of(**source, 1, store), ElementsAre("d/b", "B", "-3", std::string(600, 'T')));
  EXPECT_THAT(sample_of(**source, 2, store), ElementsAre("d/a", "again", "1", ""));
  EXPECT_EQ((*source)->where(1), "x.tar, record 1 at byte 4608");
}

TEST(Webdataset, NamesOfEveryKindGiveKeys) {
  const std::string deep = std::string(180, 'd') + "/" + std::string(90, 'n');
  const std::string tar = pax(pax_record("path", deep + ".txt")) + tar_member("short", "pax") +
                          tar_member("././@LongLink", deep + "2.txt" + '\0', 'L') +
                          tar_member("short", "gnu") + tar_member("x.txt", "prefix", '0', "a/b") + tar_end();
  MemoryStore store;
  const auto source = opened(store, tar);
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_THAT(sample_of(**source, 0, store), ElementsAre(deep, "pax"));
  EXPECT_THAT(sample_of(**source, 1, store), ElementsAre(deep + "2", "gnu"));
  EXPECT_THAT(sample_of(**source, 2, store), ElementsAre("a/b/x", "prefix"));
}

TEST(Webdataset, AShardsEndClosesASample) {
  MemoryStore store;
  store.add("d/0.tar", tar_member("a.jpg", "1") + tar_member("a.cls", "1") + tar_end());
  store.add("d/1.tar", tar_member("a.jpg", "2") + tar_member("a.cls", "2") + tar_end());
  store.add("d/2.tar", tar_end());
  for (const char* path : {"d", "d/{0..2}.tar", "d/*.tar"}) {
    const auto source = open_source(store, path);
    ASSERT_TRUE(source.ok()) << source.status().text();
    ASSERT_EQ((*source)->size(), 2u);
    EXPECT_THAT(sample_of(**source, 1, store), ElementsAre("a", "2", "2"));
    const auto again = open_described(store, (*source)->describe());
    ASSERT_TRUE(again.ok()) << again.status().text();
    EXPECT_EQ((*again)->fingerprint(), (*source)->fingerprint());
  }
}

TEST(Webdataset, FieldsAreChosenAndDecodedByName) {
  const std::string tar = tar_member("a.jpg", "J") + tar_member("a.cls", "x1") + tar_member("a.pkl", "P") +
                          tar_member("b.jpg", "K") + tar_member("b.cls", "2") + tar_end();
  EXPECT_THAT(error_of(tar), HasSubstr("webdataset: 'x.tar': has the field 'pkl', which only unpickling"));
  MemoryStore store;
  auto source = opened(store, tar, fields({"cls", "__key__"}));
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_EQ((*source)->schema().text(), "cls: i64 (), __key__: str");
  EXPECT_THAT(sample_of(**source, 1, store), ElementsAre("2", "b"));
  EXPECT_THAT(
      sample_of(**source, 0, store),
      ElementsAre("'cls' wants a whole number, got \"x1\"; decode=False gives its bytes: x.tar, record 0 "
                  "at byte 0"));
  Value options = fields({"pkl", "cls"});
  EXPECT_THAT(error_of(tar, options), HasSubstr("has the field 'pkl'"));
  options.set("decode", false);
  source = opened(store, tar, options);
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_THAT(sample_of(**source, 0, store), ElementsAre("P", "x1"));
  EXPECT_THAT(error_of(tar, fields({"jpg", "jpg"})), HasSubstr("wants each field once, got 'jpg' twice"));
}

TEST(Webdataset, ASampleThatLacksAFieldIsAnErrorOrEmpty) {
  const std::string tar = tar_member("a.jpg", "J") + tar_member("a.cls", "1") + tar_member("b.jpeg", "K") +
                          tar_member("b.cls", "2") + tar_member("c.jpg", "L") + tar_end();
  MemoryStore store;
  auto source = opened(store, tar);
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_THAT(sample_of(**source, 0, store), ElementsAre("a", "J", "1"));
  EXPECT_THAT(
      sample_of(**source, 1, store)[0],
      HasSubstr(
          "the sample 'b' has no 'jpg', it has 'jpeg', 'cls'; missing=\"empty\" gives empty bytes: x.tar, "
          "record 1 at byte 2048"));
  Value options;
  options.set("missing", "empty");
  source = opened(store, tar, options);
  EXPECT_THAT(sample_of(**source, 1, store), ElementsAre("b", "", "2"));
  EXPECT_THAT(sample_of(**source, 2, store)[0],
              HasSubstr("no number is empty: decode=False gives bytes for 'cls'"));
  options.set("missing", "skip");
  EXPECT_THAT(error_of(tar, options), HasSubstr("missing wants 'error' or 'empty', got 'skip'"));
}

TEST(Webdataset, ASuffixThatComesTwiceCostsItsSampleOnly) {
  MemoryStore store;
  const auto source = opened(store, tar_member("a.jpg", "1") + tar_member("b.jpg", "2") +
                                        tar_member("b.JPG", "3") + tar_member("c.jpg", "4") + tar_end());
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_THAT(sample_of(**source, 1, store)[0], HasSubstr("the sample 'b' has 'jpg' twice: x.tar, record 1"));
  EXPECT_THAT(sample_of(**source, 2, store), ElementsAre("c", "4"));
}

TEST(Webdataset, ABrokenHeaderIsAnErrorOfTheFileAtItsByte) {
  std::string tar = tar_member("a.jpg", "1") + tar_member("b.jpg", "2") + tar_end();
  tar[1024] ^= 1;
  EXPECT_EQ(
      error_of(tar),
      "webdataset: 'x.tar': wants a header and its checksum, which do not match (member 1 at byte 1024)");
  EXPECT_THAT(error_of(tar_member("a.jpg", "1") + tar_header("b.jpg", 5000) + padded("2")),
              HasSubstr("wants a member of 5000 bytes, only 512 are left (member 1 at byte 1024)"));
}

TEST(Webdataset, ATarWithoutItsEndWasCut) {
  const std::string tar = tar_member("a.jpg", "1") + tar_member("a.cls", "2");
  Value unfinished;
  unfinished.set("unfinished", true);
  for (const std::string& end :
       {std::string(), std::string(512, '\0'), std::string(512, '\0') + std::string(512, 'x')}) {
    EXPECT_THAT(error_of(tar + end),
                HasSubstr("wants two blocks of zeros at the end, got none: the tar was cut"));
    MemoryStore store;
    const auto source = opened(store, tar + end, unfinished);
    ASSERT_TRUE(source.ok()) << source.status().text();
    EXPECT_THAT(sample_of(**source, 0, store), ElementsAre("a", "1", "2"));
  }
  EXPECT_EQ(error_of(tar_header("a.jpg", 3) + "abc", unfinished), "");  // nor its padding
  const std::string next = pax(pax_record("mtime", "1.5")) + tar_member("b.jpg", std::string(5000, 'b'));
  for (const size_t length : {1, 512, 700, 1024, 1100, 1536, 2000, 6000}) {
    MemoryStore store;
    EXPECT_NE(error_of(tar + next.substr(0, length)), "");
    const auto source = opened(store, tar + next.substr(0, length), unfinished);
    ASSERT_TRUE(source.ok()) << source.status().text();
    EXPECT_EQ((*source)->size(), 1u) << length;
  }
}

TEST(Webdataset, AHeaderThatBreaksLaterCostsItsSampleOnly) {
  std::string tar =
      tar_member("a.jpg", "1") + tar_member("b.jpg", "2") + tar_member("c.jpg", "3") + tar_end();
  MemoryStore store;
  const auto source = opened(store, tar);
  ASSERT_TRUE(source.ok()) << source.status().text();
  tar[1024] ^= 1;
  store.add("x.tar", tar);
  EXPECT_THAT(sample_of(**source, 1, store)[0], HasSubstr("do not match: x.tar, record 1 at byte 1024"));
  EXPECT_THAT(sample_of(**source, 2, store), ElementsAre("c", "3"));
  store.add("x.tar", tar_member("a.jpg", "1") + tar_end() + tar_member("c.jpg", "3") + tar_end());
  EXPECT_THAT(sample_of(**source, 1, store)[0],
              HasSubstr("as when it was indexed, got the end of the archive"));
}

TEST(Webdataset, HeadersLongerThanAWindowAreRead) {
  MemoryStore store;
  const auto source = opened(
      store, pax(pax_record("comment", std::string(300'000, 'c'))) + tar_member("a.jpg", "1") +
                 tar_member("b.jpg", std::string(100'000, '2')) + tar_member("c.jpg", "3") + tar_end());
  ASSERT_TRUE(source.ok()) << source.status().text();
  ASSERT_EQ((*source)->size(), 3u);
  EXPECT_THAT(sample_of(**source, 0, store), ElementsAre("a", "1"));
  EXPECT_THAT(sample_of(**source, 2, store), ElementsAre("c", "3"));
}

TEST(Webdataset, TooManyMembersOfASampleAreRefused) {
  std::string tar;
  for (int i = 0; i < 4097; ++i) tar += tar_member("a." + std::to_string(i), "");
  EXPECT_THAT(error_of(tar),
              HasSubstr("wants a sample of at most 4096 members, 'a' has more (member 4096 at byte"));
}

TEST(Webdataset, WhatIsNoneIsNotRecognised) {
  EXPECT_THAT(error_of("no tar here"), HasSubstr("wants data of a known format"));
  EXPECT_THAT(error_of(tar_end()), HasSubstr("wants data of a known format"));
  EXPECT_THAT(error_of(tar_member("README", "x") + tar_end()),
              HasSubstr("wants samples, members with names like key.jpg"));
  std::string oldest = tar_member("a.jpg", "1") + tar_end();
  oldest.replace(257, 8, std::string(8, '\0'));
  EXPECT_EQ(error_of(with_checksum(oldest)), "");
}

TEST(Webdataset, ATarInGzipIsReadAtRandom) {
  std::string tar;
  for (int i = 0; i < 300; ++i)
    tar += tar_member(std::to_string(i) + ".jpg", std::string(20'000, static_cast<char>('a' + i % 26))) +
           tar_member(std::to_string(i) + ".cls", std::to_string(i));
  MemoryStore store;
  store.add("0.tar.gz", deflated(tar + tar_end(), Wrap::gzip));
  store.add("1.tar.gz", deflated(tar_end(), Wrap::gzip));
  store.add("2.tar.gz",
            deflated(tar_member("x.jpg", "X") + tar_member("x.cls", "7") + tar_end(), Wrap::gzip));
  const auto source = open_source(store, "{0..2}.tar.gz");
  ASSERT_TRUE(source.ok()) << source.status().text();
  ASSERT_EQ((*source)->size(), 301u);
  for (const int i : {299, 0, 150, 151, 7})
    EXPECT_THAT(sample_of(**source, static_cast<uint64_t>(i), store),
                ElementsAre(std::to_string(i), std::string(20'000, static_cast<char>('a' + i % 26)),
                            std::to_string(i)));
  EXPECT_THAT(sample_of(**source, 300, store), ElementsAre("x", "X", "7"));
}

TEST(Webdataset, ACutTarInGzipIsAnError) {
  const auto error = [](const std::string& tar) {
    MemoryStore store;
    store.add("x.tar.gz", deflated(tar, Wrap::gzip));
    return std::string(open_source(store, "x.tar.gz").status().text());
  };
  const std::string tar = tar_member("a.jpg", std::string(600, 'a')) + tar_member("a.cls", "1");
  EXPECT_THAT(error(tar), HasSubstr("wants two blocks of zeros at the end, got none"));
  EXPECT_THAT(error(tar + std::string(512, '\0')),
              HasSubstr("wants two blocks of zeros at the end, got none"));
  EXPECT_THAT(error(tar.substr(0, 1600)),
              HasSubstr("wants a header of 512 bytes, only 64 bytes are left (member 1"));
  EXPECT_THAT(error(tar.substr(0, 1000)),
              HasSubstr("wants 112 more bytes of a member's data, the file ends (member 0"));
  EXPECT_EQ(error(tar + tar_end()), "");
}

TEST(Webdataset, OtherCompressionsAreRefusedInWords) {
  MemoryStore store;
  store.add("x.tar", std::string("\x28\xb5\x2f\xfd", 4) + std::string(600, 'z'));
  EXPECT_THAT(std::string(open_source(store, "x.tar", "webdataset").status().text()),
              HasSubstr("wants a tar, plain or in gzip, got another compression"));
}

}  // namespace
}  // namespace headrace
