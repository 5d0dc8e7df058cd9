#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/codecs/deflate/testing.h"
#include "headrace/formats/opening/open.h"
#include "headrace/formats/testing/put_rows.h"
#include "headrace/formats/webdataset/dali_index.h"
#include "headrace/formats/webdataset/testing.h"
#include "headrace/io/testing/memory_store.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

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

// The error of the last sample: the damage at the end of a tar.
std::string damage_of(const std::string& tar, const char* name = "x.tar") {
  MemoryStore store;
  store.add(name, tar);
  const auto source = open_source(store, name);
  if (!source.ok()) return std::string(source.status().text());
  if (!(*source)->metadata().find("damaged")) return "";
  return sample_of(**source, (*source)->size() - 1, store)[0];
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
  EXPECT_EQ((*source)->schema().text(), "__key__: str, jpg: bytes, cls: int64 (), seg.png: bytes");
  ASSERT_EQ((*source)->size(), 3u);
  EXPECT_THAT(sample_of(**source, 0, store), ElementsAre("d/a", "A", "7", "S"));
  EXPECT_THAT(sample_of(**source, 1, store), ElementsAre("d/b", "B", "-3", std::string(600, 'T')));
  EXPECT_THAT(sample_of(**source, 2, store), ElementsAre("d/a", "again", "1", ""));
  EXPECT_EQ((*source)->where(1).text(), "x.tar, record 1 at byte 4608");
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

// Small samples that are read together, of every kind of field and of name, with those that are refused.
TEST(Webdataset, WhatIsPutTogetherIsWhatSamplesAre) {
  const std::string numbers = tar_member("a.cls", " 7\n") + tar_member("a.txt", "seven") +
                              tar_member("b.cls", "eight") + tar_member("b.txt", "no number") +
                              tar_member("c.txt", "none") + tar_member("d.cls", "9") +
                              tar_member("d.TXT", "") + tar_end();
  const std::string names = tar_member("x.txt", "prefix", '0', "a/b") + tar_member("y.txt", "1") +
                            tar_member("y.TXT", "twice") +
                            pax(pax_record("path", std::string(300, 'd') + ".txt")) +
                            tar_member("short", "pax") + tar_member("z.txt", "2", '0', "a/b") + tar_end();
  for (const std::string& tar : {numbers, names})
    for (const char* missing : {"error", "empty"})
      for (const bool decode : {true, false}) {
        MemoryStore store;
        Value options;
        options.set("missing", missing), options.set("decode", decode);
        const auto source = opened(store, tar, options);
        ASSERT_TRUE(source.ok()) << source.status().text();
        const auto [block, size] = read_together(store, **source, 16);
        ASSERT_EQ(size, 4u);
        EXPECT_TRUE(puts_what_it_gets(*block, (*source)->schema(), size)) << missing << decode;
        const auto read = [&](uint64_t i) { return read_sample(**source, i, store); };
        for (const uint64_t step : {1, 2, 3})
          EXPECT_TRUE(maps_show_what_is_read(store, **source, 4, step, read)) << missing << decode << step;
      }
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
  EXPECT_THAT(error_of(tar),
              HasSubstr("webdataset: 'x.tar': the field 'pkl' can only be decoded by unpickling"));
  MemoryStore store;
  auto source = opened(store, tar, fields({"cls", "__key__"}));
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_EQ((*source)->schema().text(), "cls: int64 (), __key__: str");
  EXPECT_THAT(sample_of(**source, 1, store), ElementsAre("2", "b"));
  EXPECT_THAT(
      sample_of(**source, 0, store),
      ElementsAre("'cls': expected an integer, got \"x1\"; decode=False reads its bytes: x.tar, record 0 "
                  "at byte 0"));
  source = opened(store, tar_member("c.cls", "\xE9 2") + tar_end(), fields({"cls"}));
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_THAT(sample_of(**source, 0, store), ElementsAre(HasSubstr("expected an integer, got '\\xe9 2'; ")));
  Value options = fields({"pkl", "cls"});
  EXPECT_THAT(error_of(tar, options), HasSubstr("the field 'pkl' can only"));
  options.set("decode", false);
  source = opened(store, tar, options);
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_THAT(sample_of(**source, 0, store), ElementsAre("P", "x1"));
  EXPECT_NE((*source)->fingerprint(), (*opened(store, tar, fields({"cls"})))->fingerprint());
  EXPECT_THAT(error_of(tar, fields({"jpg", "jpg"})), HasSubstr("expected each field once, got 'jpg' twice"));
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
              HasSubstr("a number or array cannot be empty: decode=False reads bytes for 'cls'"));
  options.set("missing", "skip");
  EXPECT_THAT(error_of(tar, options), HasSubstr("missing must be 'error' or 'empty', got 'skip'"));
}

TEST(Webdataset, ASuffixThatComesTwiceCostsItsSampleOnly) {
  MemoryStore store;
  const auto source = opened(store, tar_member("a.jpg", "1") + tar_member("b.jpg", "2") +
                                        tar_member("b.JPG", "3") + tar_member("c.jpg", "4") + tar_end());
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_THAT(sample_of(**source, 1, store)[0], HasSubstr("the sample 'b' has 'jpg' twice: x.tar, record 1"));
  EXPECT_THAT(sample_of(**source, 2, store), ElementsAre("c", "4"));
}

TEST(Webdataset, ABrokenHeaderCostsTheRestOfItsTar) {
  std::string tar = tar_member("a.jpg", "1") + tar_member("b.jpg", "2") + tar_end();
  tar[1024] ^= 1;  // of what may be a's
  EXPECT_EQ(damage_of(tar),
            "webdataset: 'x.tar': a header does not match its checksum (member 1 at byte 1024) (record 0 at "
            "byte 0)");
  MemoryStore store;
  store.add("0.tar", tar_member("0.jpg", "0") + tar);
  store.add("1.tar", tar_member("c.jpg", "3") + tar_end());
  const auto source = open_source(store, "{0,1}.tar");
  ASSERT_TRUE(source.ok()) << source.status().text();
  ASSERT_EQ((*source)->size(), 3u);
  EXPECT_THAT(sample_of(**source, 0, store), ElementsAre("0", "0"));
  EXPECT_THAT(sample_of(**source, 1, store)[0], HasSubstr("0.tar, record 1 at byte 1024"));
  EXPECT_THAT(sample_of(**source, 2, store), ElementsAre("c", "3"));
  // The name of a truncated member shows that the sample before it is complete.
  EXPECT_THAT(
      damage_of(tar_member("a.jpg", "1") + tar_header("b.jpg", 5000) + padded("2")),
      HasSubstr(
          "expected a member of 5000 bytes, but only 512 are left (member 1 at byte 1024): x.tar, record 1"));
  EXPECT_THAT(damage_of(tar_member("a.jpg", "1") + tar_header("a.cls", 5000) + padded("2")),
              HasSubstr("(member 1 at byte 1024) (record 0 at byte 0)"));
}

TEST(Webdataset, ATarWithoutItsEndWasCut) {
  const std::string tar = tar_member("a.jpg", "1") + tar_member("a.cls", "2");
  Value unfinished;
  unfinished.set("unfinished", true);
  for (const std::string& end : {std::string(), std::string(512, '\0'), std::string(1023, '\0'),
                                 std::string(512, '\0') + std::string(512, 'x')}) {
    EXPECT_THAT(damage_of(tar + end),
                HasSubstr("expected two blocks of zeros at the end, got " +
                          std::string(end.empty() ? "none" : "one") + ": the tar was truncated"));
    MemoryStore store;
    const auto source = opened(store, tar + end, unfinished);
    ASSERT_TRUE(source.ok()) << source.status().text();
    EXPECT_THAT(sample_of(**source, 0, store), ElementsAre("a", "1", "2"));
  }
  EXPECT_EQ(error_of(tar_header("a.jpg", 3) + "abc", unfinished), "");  // nor its padding
  const std::string next = pax(pax_record("mtime", "1.5")) + tar_member("b.jpg", std::string(5000, 'b'));
  for (const size_t length : {1, 512, 700, 1024, 1100, 1536, 2000, 6000}) {
    MemoryStore store;
    EXPECT_NE(damage_of(tar + next.substr(0, length)), "");
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
  EXPECT_THAT(sample_of(**source, 1, store)[0],
              HasSubstr("does not match its checksum: x.tar, record 1 at byte 1024"));
  EXPECT_THAT(sample_of(**source, 2, store), ElementsAre("c", "3"));
  store.add("x.tar", tar_member("a.jpg", "1") + tar_end() + tar_member("c.jpg", "3") + tar_end());
  EXPECT_THAT(sample_of(**source, 1, store)[0],
              HasSubstr("as when it was indexed, got the end of the archive"));
}

// An .npy file of version 1.
std::string npy(const std::string& descr, const std::string& order, const std::string& shape,
                const std::string& data) {
  std::string header = "{'descr': " + descr + ", 'fortran_order': " + order + ", 'shape': " + shape + ", }";
  header.resize((10 + header.size()) / 64 * 64 + 64 - 11, ' ');
  header += '\n';
  return std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size()) + '\0' + header + data;
}

TEST(Webdataset, ArraysAndTextsAreDecoded) {
  const std::string tar =
      tar_member("a.depth.npy",
                 npy("'<u2'", "False", "(2, 3)", std::string("\1\0\2\0\3\0\4\0\5\0\6\0", 12))) +
      tar_member("a.txt", "a text") + tar_member("a.json", "{\"x\": 1}") +
      tar_member("b.depth.npy", npy("'>u2'", "True", "(2, 1)", std::string("\0\1\0\2", 4))) +
      tar_member("b.txt", "") + tar_member("b.json", "[]") +
      tar_member("c.depth.npy", npy("'<u2'", "False", "(3,)", "abcdef")) + tar_member("c.txt", "") +
      tar_member("c.json", "") + tar_member("d.depth.npy", npy("'<u2'", "False", "(9, 9)", "abcdef")) +
      tar_member("d.txt", "") + tar_member("d.json", "") + tar_end();
  for (const char* name : {"x.tar", "x.tar.gz"}) {
    MemoryStore store;
    store.add(name, name[5] == '.' ? deflated(tar, Wrap::gzip) : tar);
    const auto source = open_source(store, name);
    ASSERT_TRUE(source.ok()) << source.status().text();
    EXPECT_EQ((*source)->schema().text(), "__key__: str, depth.npy: uint16 (?, ?), txt: str, json: str");
    const auto first = *read_sample(**source, 0, store), second = *read_sample(**source, 1, store);
    EXPECT_EQ(first[1].shape, (Shape{2, 3}));
    EXPECT_EQ(first[1].view().as<uint16_t>()[5], 6);
    EXPECT_EQ(text_of(first[3]), "{\"x\": 1}");
    EXPECT_EQ(second[1].shape, (Shape{2, 1}));
    EXPECT_EQ(second[1].view().as<uint16_t>()[1], 2);
    if (const auto [block, size] = read_together(store, **source, 16); block) {
      EXPECT_TRUE(puts_what_it_gets(*block, (*source)->schema(), size));
    }
    uint64_t num_put = 0;
    const auto read = [&](uint64_t i) { return read_sample(**source, i, store); };
    EXPECT_TRUE(maps_show_what_is_read(store, **source, 4, 1, read, &num_put));
    EXPECT_EQ(num_put, name[5] == '.' ? 0u : 2u);  // what is inflated is in no map
    EXPECT_THAT(
        sample_of(**source, 2, store)[0],
        HasSubstr("'depth.npy': expected uint16 of rank 2 as in the first sample, got uint16 of rank 1"));
    EXPECT_THAT(sample_of(**source, 3, store)[0],
                HasSubstr("'depth.npy': expected 162 bytes for uint16 (9, 9), got 6"));
  }
  EXPECT_THAT(error_of(tar_member("a.npy", npy("'|O'", "False", "(1,)", "pickle")) + tar_end()),
              HasSubstr("expected an array of numbers in 'npy' of the first sample"));
}

TEST(Webdataset, AnIndexOfDaliIsUsedWhenItAgreesAndIgnoredElse) {
  const std::string tar = tar_member("d", "", '5') + tar_member("a.jpg", std::string(700, 'A')) +
                          tar_member("a.cls", "1") + pax(pax_record("mtime", "1.5")) +
                          tar_member("b.cls", "2") + tar_member("b.jpg", "B") + tar_end();
  const std::string lines = "jpg 1024 700 a.jpg cls 2560 1 a.cls\ncls 4608 1 b.cls jpg 5632 1 b.jpg\n";
  for (const std::string& index :
       {"v1.2 2\n" + lines, std::string("v1.1 2\njpg 1024 700 cls 2560 1\ncls 4608 1 jpg 5632 1\n"),
        "v1.2 3\n" + lines, std::string("v1.2 1\njpg 1024 700 a.jpg cls 2560 1 a.cls\n"),
        std::string("v1.2 2\njpg 1024 700 a.jpg cls 2560 1 a.cls\ncls 5120 1 b.cls jpg 5632 1 b.jpg\n"),
        std::string("none")}) {
    MemoryStore store;
    store.add("x.idx", index);
    const auto source = opened(store, tar);
    ASSERT_TRUE(source.ok()) << source.status().text();
    EXPECT_EQ((*source)->schema().text(), "__key__: str, jpg: bytes, cls: int64 ()");
    ASSERT_EQ((*source)->size(), 2u);
    EXPECT_THAT(sample_of(**source, 0, store), ElementsAre("a", std::string(700, 'A'), "1"));
    EXPECT_THAT(sample_of(**source, 1, store), ElementsAre("b", "B", "2"));
  }
  // The index lists the samples without the headers of the members.
  const auto claimed = read_dali_tar_index("v1.2 2\n" + lines, tar.size());
  ASSERT_TRUE(claimed);
  EXPECT_THAT(claimed->samples, ElementsAre(RecordExtent{0, 2561}, RecordExtent{3072, 2561}));
}

TEST(Webdataset, AListOfWidsIsItsShards) {
  MemoryStore store;
  store.add("d/0.tar", tar_member("a.jpg", "1") + tar_end());
  store.add("d/1.tar", tar_member("b.jpg", "2") + tar_end());
  store.add("d/index.json", R"({"__kind__": "wids-shard-index-v1", "wids_version": 1, "shardlist": [
      {"url": "1.tar", "nsamples": 1}, {"url": "file:0.tar", "nsamples": 1}]})");
  const auto source = open_source(store, "d/index.json");
  ASSERT_TRUE(source.ok()) << source.status().text();
  ASSERT_EQ((*source)->size(), 2u);
  EXPECT_THAT(sample_of(**source, 0, store), ElementsAre("b", "2"));
  EXPECT_EQ((*source)->describe().find("path")->dump(), "\"d/index.json\"");
  store.add("d/far.json", R"({"__kind__": "wids-shard-index-v1", "shardlist": [{"url": "pipe:rm x"}]})");
  EXPECT_THAT(std::string(open_source(store, "d/far.json").status().text()),
              HasSubstr("'d/far.json': expected shards that are files, got 'pipe:rm x'"));
}

TEST(Webdataset, TooManyHeadersBeforeAMemberAreRefused) {
  std::string tar = tar_member("a.jpg", "1");
  for (int i = 0; i < 17; ++i) tar += pax(pax_record("comment", "c"));
  EXPECT_THAT(error_of(tar + tar_member("b.jpg", "2") + tar_end()),
              HasSubstr("expected at most 16 headers before a member's own, got more (member 1"));
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
              HasSubstr("expected a sample of at most 4096 members, but 'a' has more (member 4096 at byte"));
}

TEST(Webdataset, WhatIsNoneIsNotRecognised) {
  EXPECT_THAT(error_of("no tar here"), HasSubstr("expected data of a known format"));
  EXPECT_THAT(error_of(tar_end()), HasSubstr("expected samples, members with names like key.jpg"));
  EXPECT_THAT(error_of(tar_member("README", "x") + tar_end()),
              HasSubstr("expected samples, members with names like key.jpg"));
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

TEST(Webdataset, ACutTarInGzipGivesWhatIsBeforeTheCut) {
  const auto error = [](const std::string& tar) { return damage_of(deflated(tar, Wrap::gzip), "x.tar.gz"); };
  const std::string tar = tar_member("a.jpg", std::string(600, 'a')) + tar_member("a.cls", "1");
  EXPECT_THAT(error(tar), HasSubstr("expected two blocks of zeros at the end, got none"));
  EXPECT_THAT(error(tar + std::string(512, '\0')),
              HasSubstr("expected two blocks of zeros at the end, got one"));
  EXPECT_THAT(error(tar.substr(0, 1600)),
              HasSubstr("expected a header of 512 bytes, but only 64 bytes are left (member 1"));
  EXPECT_THAT(error(tar.substr(0, 1000)),
              HasSubstr("expected 112 more bytes of a member's data, but the file ends (member 0"));
  EXPECT_EQ(error(tar + tar_end()), "");
}

TEST(Webdataset, OtherCompressionsAreRefusedInWords) {
  MemoryStore store;
  store.add("x.tar", "BZh9" + std::string(600, 'z'));
  EXPECT_THAT(std::string(open_source(store, "x.tar", "webdataset").status().text()),
              HasSubstr("expected a tar, plain or in gzip or zstd, got another compression"));
}

}  // namespace
}  // namespace headrace
