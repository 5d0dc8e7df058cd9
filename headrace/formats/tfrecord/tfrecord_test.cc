#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/codecs/deflate/testing.h"
#include "headrace/formats/opening/open.h"
#include "headrace/formats/tfrecord/testing.h"
#include "headrace/io/testing/memory_store.h"
#include "tests/real_files.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> numbered(int first, int count, size_t size) {
  std::vector<std::string> out;
  for (int i = 0; i < count; ++i) {
    std::string record = std::to_string(first + i);
    record.resize(std::max(size, record.size()), '.');
    out.push_back(std::move(record));
  }
  return out;
}

std::string record_of(const Source& source, uint64_t index, Store& store) {
  const auto fields = read_sample(source, index, store);
  if (!fields.ok()) return std::string(fields.status().text());
  const auto bytes = (*fields)[0].view().bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::string> all_of(const Source& source, Store& store) {
  std::vector<std::string> out;
  for (uint64_t i = 0; i < source.size(); ++i) out.push_back(record_of(source, i, store));
  return out;
}

TEST(TfrecordFraming, IsThatOfTheSpecification) {
  EXPECT_EQ(framed(""), std::string("\0\0\0\0\0\0\0\0\x29\x03\x98\x07\xd8\xea\x82\xa2", 16));
}

TEST(Tfrecord, ReadsRecordsOfEverySize) {
  std::vector<std::string> records;
  for (const size_t size : {0, 1, 100, 4079, 4080, 4081, 5000, 8192, 40'000, 3, 3, 3, 300'000})
    for (int i = 0; i < 40; ++i) records.push_back(numbered(i, 1, size)[0]);
  MemoryStore store;
  store.add("x", framed(records));
  const auto source = open_source(store, "x");
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_EQ((*source)->schema().text(), "record: bytes");
  EXPECT_EQ(all_of(**source, store), records);
}

TEST(Tfrecord, ManyFilesAreOneSource) {
  MemoryStore store;
  store.add("d/train-00000-of-00002", framed(numbered(0, 3, 10)));
  store.add("d/train-00001-of-00002", framed(numbered(3, 2, 10)));
  store.add("d/checkpoint.json", "{}");
  const Value list = Value::List{"d/train-00000-of-00002", "d/train-00001-of-00002"};
  const std::string kPattern = "d/train-\?\?\?\?\?-of-00002";
  const auto by_pattern = open_source(store, kPattern);
  const auto by_folder = open_source(store, "d");
  const auto by_list = open_source(store, std::vector<std::string>{"d/train-00000-of-00002", kPattern});
  ASSERT_TRUE(by_pattern.ok()) << by_pattern.status().text();
  ASSERT_TRUE(by_folder.ok()) << by_folder.status().text();
  ASSERT_TRUE(by_list.ok()) << by_list.status().text();
  for (const auto& source : {*by_pattern, *by_folder, *by_list}) {
    EXPECT_THAT(all_of(*source, store),
                ElementsAre("0.........", "1.........", "2.........", "3.........", "4........."));
    EXPECT_EQ(source->fingerprint(), (*by_pattern)->fingerprint());
    EXPECT_EQ(source->where(4).text(), "d/train-00001-of-00002, record 1 at byte 26");
    const auto again = open_described(store, source->describe());
    ASSERT_TRUE(again.ok()) << again.status().text();
    EXPECT_EQ((*again)->fingerprint(), source->fingerprint());
  }
  EXPECT_EQ((*by_pattern)->describe().dump(), R"({"format":"tfrecord","path":")" + kPattern + R"("})");
  EXPECT_EQ((*by_list)->describe().find("path")->list()->size(), 2u);
  EXPECT_EQ((*by_folder)->metadata().dump(), R"({"files":2,"left_out":{"files":1,"endings":{".json":1}}})");
}

TEST(Tfrecord, TheFingerprintHoldsNamesBelowTheCommonFolderSizesAndCounts) {
  MemoryStore store;
  for (const char* folder : {"a", "elsewhere/b"}) {
    store.add(std::string(folder) + "/1/x", framed(numbered(0, 3, 10)));
    store.add(std::string(folder) + "/2/x", framed(numbered(0, 3, 10)));
  }
  store.add("c/1/x", framed(numbered(0, 3, 10)));
  store.add("c/3/x", framed(numbered(0, 3, 10)));
  const auto fingerprint = [&](const char* pattern) { return (*open_source(store, pattern))->fingerprint(); };
  EXPECT_EQ(fingerprint("a/*/x"), fingerprint("elsewhere/b/*/x"));
  EXPECT_NE(fingerprint("a/*/x"), fingerprint("c/*/x"));
}

TEST(Tfrecord, ADamagedRecordCostsItselfOnly) {
  std::string bytes = framed(numbered(0, 5, 50));
  bytes[2 * 66 + 20] ^= 1;
  MemoryStore store;
  store.add("x", bytes);
  const auto source = open_source(store, "x");
  ASSERT_TRUE(source.ok()) << source.status().text();
  EXPECT_EQ(record_of(**source, 2, store),
            "the record's data does not match its checksum: x, record 2 at byte 132");
  for (const uint64_t i : {0, 1, 3, 4})
    EXPECT_EQ(record_of(**source, i, store), numbered(static_cast<int>(i), 1, 50)[0]);
  Value options;
  options.set("verify", false);
  EXPECT_EQ(record_of(**open_source(store, "x", "", options), 2, store).size(), 50u);
}

TEST(Tfrecord, ADamagedLengthCostsNeitherWhatFollowsNorOtherFiles) {
  std::string bytes = framed(numbered(0, 5, 50));
  bytes[2 * 66] ^= 1;
  MemoryStore store;
  store.add("d/a", bytes);
  store.add("d/b", framed(numbered(5, 5, 50)));
  const auto source = open_source(store, "d/?");
  ASSERT_TRUE(source.ok()) << source.status().text();
  ASSERT_EQ((*source)->size(), 10u);
  EXPECT_EQ(record_of(**source, 2, store),
            "a record's length does not match its checksum: d/a, record 2 at byte 132");
  for (const uint64_t i : {0, 1, 3, 4, 5, 9})
    EXPECT_EQ(record_of(**source, i, store), numbered(static_cast<int>(i), 1, 50)[0]) << i;
  EXPECT_EQ((*source)->metadata().find("damaged")->list()->size(), 1u);
  EXPECT_NE((*source)->fingerprint(), (*open_source(store, "d/b"))->fingerprint());
}

TEST(Tfrecord, ManyDamagedLengthsAreManyPlaces) {
  std::string bytes = framed(numbered(0, 20'000, 50));
  for (size_t i = 1; i < 20'000; i += 1000) bytes[i * 66 + 3] ^= 1;
  MemoryStore store;
  store.add("x", bytes);
  const auto source = open_source(store, "x");
  ASSERT_TRUE(source.ok()) << source.status().text();
  ASSERT_EQ((*source)->size(), 20'000u);
  for (uint64_t i = 0; i < 20'000; i += 500)
    EXPECT_EQ(record_of(**source, i, store), numbered(static_cast<int>(i), 1, 50)[0]) << i;
  EXPECT_THAT(record_of(**source, 19'001, store), HasSubstr("x, record 19001 at byte 1254066"));
}

TEST(Tfrecord, AFileOfNothingButDamageIsAnError) {
  std::string bytes = framed(numbered(0, 1, 50));
  bytes.resize(30);
  MemoryStore store;
  store.add("d/b", bytes);
  EXPECT_EQ(open_source(store, "d/b", "tfrecord").status().text(),
            "tfrecord: 'd/b': expected a record of 50 bytes, but only 14 are left (record 0 at byte 0)");
  store.add("d/a", framed(numbered(0, 1, 50)));
  EXPECT_EQ((*open_source(store, "d/?"))->size(), 2u);
}

TEST(Tfrecord, ALengthBeyondTheFileIsRefusedBeforeMemoryIsTaken) {
  const std::string length = as_bytes(uint64_t{1} << 40);
  const std::string header = length + as_bytes(masked_crc32c(std::as_bytes(std::span(length))));
  MemoryStore store;
  store.add("x", framed("first") + header + std::string(8, '\0'));
  const auto source = open_source(store, "x");
  ASSERT_EQ((*source)->size(), 2u);
  EXPECT_EQ(record_of(**source, 1, store),
            "expected a record of 1099511627776 bytes, but only 4 are left: x, record 1 at byte 21");
}

// The number of reads of the data that opening took.
class CountingStore final : public Store {
 public:
  explicit CountingStore(MemoryStore& below) : below_(below) {}
  Result<std::unique_ptr<OpenFile>> open(const std::string& path) override {
    HEADRACE_ASSIGN(auto file, below_.open(path));
    return std::unique_ptr<OpenFile>(std::make_unique<File>(std::move(file), reads));
  }
  Result<FileInfo> info(const std::string& path) override { return below_.info(path); }
  Result<Listing> list(const std::string& root) override { return below_.list(root); }
  int reads = 0;

 private:
  struct File final : OpenFile {
    File(std::unique_ptr<OpenFile> file, int& count) : below(std::move(file)), reads(count) {}
    Result<uint64_t> size() override { return below->size(); }
    Result<size_t> read(uint64_t offset, std::span<std::byte> out) override {
      ++reads;
      return below->read(offset, out);
    }
    std::unique_ptr<OpenFile> below;
    int& reads;
  };
  MemoryStore& below_;
};

TEST(Tfrecord, AnIndexOfDaliSavesTheWalkWhenItAgreesAndIsIgnoredElse) {
  const auto records = numbered(0, 50, 20'000);
  std::string index;
  for (int i = 0; i < 50; ++i) index += std::to_string(i * 20'016) + " 20016\n";
  MemoryStore memory;
  memory.add("x.tfrecord", framed(records));
  CountingStore store(memory);
  const auto reads = [&] {
    store.reads = 0;
    const auto source = open_source(store, "x.tfrecord");
    EXPECT_TRUE(source.ok()) << source.status().text();
    EXPECT_EQ((*source)->size(), 50u);
    EXPECT_EQ(record_of(**source, 33, store), records[33]);
    return store.reads;
  };
  EXPECT_GT(reads(), 50);
  for (const char* name : {"x.idx", "x.tfrecord.idx"}) {
    memory.add(name, index);
    EXPECT_LT(reads(), 10) << name;
    std::string wrong = index;
    wrong.replace(wrong.find("20016 20016"), 11, "20016 20017");
    for (const std::string& bad :
         {wrong, index + "x", std::string(), index.substr(0, 300), "0 1000800\n" + std::string()}) {
      memory.add(name, bad);
      EXPECT_GT(reads(), 50) << bad;
    }
  }
}

TEST(Tfrecord, AWrongEntryOfDalisIndexIsToldWithItsFile) {
  MemoryStore store;
  store.add("x.tfrecord", framed(numbered(0, 9, 20)));
  std::string index;
  for (int i = 0; i < 9; ++i)
    index += std::to_string(i * 36 + (i == 3 ? 2 : 0)) + (i == 2 ? " 38\n" : i == 3 ? " 34\n" : " 36\n");
  store.add("x.idx", index);
  const auto source = open_source(store, "x.tfrecord");
  ASSERT_TRUE(source.ok()) << source.status().text();
  const auto wrong = read_sample(**source, 2, store);
  EXPECT_EQ(wrong.status().text(),
            "expected a record of 22 bytes as when it was indexed, got 20: "
            "x.tfrecord, record 2 of the index 'x.idx' at byte 72");
  EXPECT_TRUE(read_sample(**source, 4, store).ok());
}

TEST(Tfrecord, CompressedFilesAreReadInAnyOrder) {
  const std::vector<std::string> records = numbered(0, 30, 300'000);
  MemoryStore store;
  store.add("x", framed(records));
  store.add("x.gz", deflated(framed(records), Wrap::gzip));
  store.add("x.zlib", deflated(framed(records), Wrap::zlib));
  for (const char* path : {"x.gz", "x.zlib"}) {
    const auto source = open_source(store, path);
    ASSERT_TRUE(source.ok()) << source.status().text();
    ASSERT_EQ((*source)->size(), records.size());
    EXPECT_GT((*source)->place(29).block, 0u);  // inflated from a point in the middle
    for (const uint64_t i : {29, 0, 15, 7, 8, 9, 28})
      EXPECT_EQ(record_of(**source, i, store), records[i]) << i;
    EXPECT_EQ((*source)->where(1).text(), std::string(path) + ", record 1 at byte 300016");
  }
  EXPECT_EQ((*open_source(store, "x{.gz,,.zlib}"))->size(), 90u);  // a mixed set is one source
}

TEST(Tfrecord, ACompressedFileThatIsCutGivesWhatIsBeforeTheCut) {
  MemoryStore store;
  store.add("cut.gz", deflated(framed(numbered(0, 3, 50)).substr(0, 150), Wrap::gzip));
  const std::string whole = deflated(framed(numbered(0, 3000, 500)), Wrap::gzip);
  store.add("half.gz", whole.substr(0, whole.size() / 2));
  std::string wrong = whole;
  wrong[wrong.size() - 6] ^= 1;  // of gzip's own checksum
  store.add("wrong.gz", wrong);
  auto source = open_source(store, "cut.gz");
  ASSERT_EQ((*source)->size(), 3u);
  EXPECT_EQ(record_of(**source, 1, store), numbered(1, 1, 50)[0]);
  EXPECT_EQ(record_of(**source, 2, store),
            "expected 48 more bytes, but the file ends: cut.gz, record 2 at byte 132");
  source = open_source(store, "half.gz");
  const uint64_t size = (*source)->size();
  ASSERT_GT(size, 500u);
  for (uint64_t i = 0; i + 1 < size; ++i)
    ASSERT_EQ(record_of(**source, i, store), numbered(static_cast<int>(i), 1, 500)[0]) << i;
  EXPECT_THAT(record_of(**source, size - 1, store), HasSubstr("deflated data ends early"));
  source = open_source(store, "wrong.gz");
  ASSERT_EQ((*source)->size(), 3001u);
  EXPECT_THAT(record_of(**source, 3000, store), HasSubstr("incorrect data check"));
}

TEST(Tfrecord, ZerosBehindGzipArePassedOver) {
  MemoryStore store;
  const std::string one = deflated(framed(numbered(0, 3, 50)), Wrap::gzip);
  store.add("x.gz", one + std::string(1000, '\0') + one + std::string(513, '\0'));
  const auto source = open_source(store, "x.gz");
  ASSERT_TRUE(source.ok()) << source.status().text();
  ASSERT_EQ((*source)->size(), 6u);
  EXPECT_EQ(record_of(**source, 5, store), numbered(2, 1, 50)[0]);
}

TEST(Tfrecord, ACompressedFileThatHoldsSomethingElseIsAnError) {
  MemoryStore store;
  store.add("text.gz", deflated("a text that is no record", Wrap::gzip));
  EXPECT_THAT(std::string(open_source(store, "text.gz").status().text()),
              HasSubstr("expected data of a known format"));
  EXPECT_THAT(std::string(open_source(store, "text.gz", "tfrecord").status().text()),
              HasSubstr("a record's length does not match its checksum"));
}

TEST(Tfrecord, FoldersInAListStandForTheirShards) {
  MemoryStore store;
  store.add("a/0.tfrecord", framed("one"));
  store.add("a/1.tfrecord", framed("two"));
  store.add("a/notes.txt", "left out");
  store.add("b/0.tfrecord", framed("three"));
  const auto source = open_source(store, std::vector<std::string>{"a", "b/0.tfrecord"});
  ASSERT_TRUE(source.ok()) << source.status().text();
  ASSERT_EQ((*source)->size(), 3u);
  EXPECT_EQ(record_of(**source, 1, store), "two");
}

TEST(Tfrecord, AReaderThatIsTheWrongOneNamesTheRightOne) {
  MemoryStore store;
  store.add("x", framed("a record"));
  EXPECT_THAT(std::string(open_source(store, "x", "webdataset").status().text()),
              HasSubstr("; it looks like tfrecord, which read() recognises"));
  EXPECT_THAT(std::string(open_source(store, "x", "lmdb").status().text()),
              HasSubstr("; it looks like tfrecord"));
}

TEST(Tfrecord, WhatIsNoneIsNotRecognised) {
  MemoryStore store;
  store.add("x", "no records here");
  store.add("a.jpg", "\xff\xd8\xff");
  store.add("b.jpg", "\xff\xd8\xff");
  EXPECT_FALSE(open_source(store, "x").ok());
  EXPECT_THAT(std::string(open_source(store, "?.jpg").status().text()),
              HasSubstr("2 files, the first of them 'a.jpg', one of 3 bytes that begins with ff d8 ff"));
  EXPECT_THAT(
      std::string(open_source(store, "?.jpg", "file_list").status().text()),
      HasSubstr("file_list: '?.jpg': reads a single path, got 2 files; formats that read several files: "));
}

// TensorFlow 2.21's own files: the first of two plain ones, gzip and zlib hold the same ten records.
TEST(Tfrecord, ReadsWhatTensorFlowWrote) {
  const std::string data = testing::data_folder();
  if (data.empty()) GTEST_SKIP() << "HEADRACE_DATA is not set";
  const std::string folder = data + "/official_writers/tfrecord_imagenet/";
  const std::shared_ptr<Store> store = file_store();
  const auto plain = open_source(*store, folder + "train-00000-of-00002");
  ASSERT_TRUE(plain.ok()) << plain.status().text();
  const auto records = all_of(**plain, *store);
  EXPECT_EQ(records.size(), 10u);
  EXPECT_THAT(records[0], HasSubstr("image/"));
  for (const char* name : {"train-00000-of-00001.gz", "train-00000-of-00001.zlib"}) {
    const auto same = open_source(*store, folder + name);
    ASSERT_TRUE(same.ok()) << same.status().text();
    EXPECT_EQ(all_of(**same, *store), records) << name;
  }
  EXPECT_EQ((*open_source(*store, folder + "train-*-of-00002"))->size(), 20u);
}

}  // namespace
}  // namespace headrace
