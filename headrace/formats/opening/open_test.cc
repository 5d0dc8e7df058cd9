#include "headrace/formats/opening/open.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/io/testing/faulty_store.h"
#include "headrace/io/testing/memory_store.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

std::string failure(const Result<SourcePtr>& result) {
  return result.ok() ? "no error" : std::string(result.status().text());
}

TEST(OpenSource, SaysWhatItSawWhenNothingFits) {
  MemoryStore store;
  store.add("d/data.bin", std::string("\0\1\2\xff", 4));
  EXPECT_THAT(failure(open_source(store, "d/data.bin")),
              HasSubstr("'d/data.bin', a file of 4 bytes that begins with 00 01 02 ff"));
  EXPECT_THAT(failure(open_source(store, "d")), HasSubstr("a folder of 1 files: 'data.bin'"));
  EXPECT_THAT(failure(open_source(store, "d")), HasSubstr("image_folder, imagenet_solution, images"));
}

TEST(OpenSource, WhatAWriterLeavesOfNoSamplesIsKnownByItsEnding) {
  MemoryStore store;
  store.add("d/x-00000-of-00001.tfrecord", "");
  store.add("x.rec", "");
  store.add("x.jsonl", "");
  store.add("x.tar", std::string(1024, '\0'));
  store.add("x.bin", "");
  for (const char* path : {"d", "d/x-00000-of-00001.tfrecord", "x.rec"}) {
    const auto source = open_source(store, path);
    ASSERT_TRUE(source.ok()) << source.status().text();
    EXPECT_EQ((*source)->size(), 0);
  }
  EXPECT_THAT(failure(open_source(store, "x.jsonl")),
              HasSubstr("jsonl: 'x.jsonl': expected at least one line with a JSON object"));
  EXPECT_THAT(failure(open_source(store, "x.tar")), HasSubstr("webdataset: 'x.tar': expected samples"));
  EXPECT_THAT(failure(open_source(store, "x.bin")),
              HasSubstr("data of a known format, got 'x.bin', a file of 0 bytes"));
}

TEST(OpenSource, TextIsKnownThatIsNotUtf8) {
  MemoryStore store;
  store.add("x.csv", "name,y\nJos\xe9,1\nAna,2\n");
  store.add("x.jsonl", "{\"name\": \"Jos\xe9\"}\n");
  for (const char* path : {"x.csv", "x.jsonl"}) {
    const auto source = open_source(store, path);
    EXPECT_TRUE(source.ok()) << source.status().text();
  }
  store.add("x.dat", std::string("\xFF\xFE"
                                 "a\0\n\0",
                                 6));
  EXPECT_THAT(failure(open_source(store, "x.dat")),
              HasSubstr("that begins with ff fe 61 00 0a 00, which looks like UTF-16"));
  store.add("z.csv", "\x01\xe9,\n");
  EXPECT_THAT(failure(open_source(store, "z.csv")), HasSubstr("expected data of a known format"));
}

TEST(OpenSource, ErrorsNameTheFileTheFormatAndTheOption) {
  MemoryStore store;
  store.add("list.txt", "a.jpg 1\nb.jpg\n");
  EXPECT_EQ(failure(open_source(store, "none.txt")), "read: cannot open 'none.txt': no such file in memory");
  EXPECT_THAT(failure(open_source(store, "list.txt", "nothing")),
              HasSubstr("no format named 'nothing'; there are "));
  EXPECT_THAT(failure(open_source(store, "list.txt", "parqet")),
              HasSubstr("no format named 'parqet', did you mean 'parquet'? (there are "));
  EXPECT_THAT(failure(open_source(store, "list.txt", "range")), HasSubstr("generated, not read"));
  EXPECT_EQ(failure(open_source(store, "list.txt", "file_list")),
            "file_list: 'list.txt': line 2: expected a label, as in the lines before, got 'b.jpg'");
  Value options;
  options.set("rot", "x");
  EXPECT_EQ(failure(open_source(store, "list.txt", "file_list", options)),
            "file_list: 'list.txt': has no option 'rot', did you mean 'root'? (it has root, numbers, "
            "extension, key, encoding)");
  Value wrong;
  wrong.set("root", 3);
  EXPECT_THAT(failure(open_source(store, "list.txt", "images", wrong)),
              HasSubstr("has no option 'root'; it has key"));
  store.add("good.txt", "a.jpg\n");
  EXPECT_THAT(failure(open_source(store, "good.txt", "file_list", wrong)),
              HasSubstr("root: expected a str, got 3"));
}

TEST(OpenSource, FailingReadsNameTheFileAndNeverCrash) {
  auto memory = std::make_shared<MemoryStore>();
  std::string list;
  for (int i = 0; i < 2000; ++i) list += std::to_string(i) + ".jpg " + std::to_string(i) + "\n";
  memory->add("list.txt", list);
  const std::string whole = (*open_source(*memory, "list.txt"))->fingerprint();
  int failed = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    FaultyStore store(memory, {.seed = seed, .short_reads = 500, .errors = 100});
    const auto source = open_source(store, "list.txt");
    if (source.ok()) {
      EXPECT_EQ((*source)->fingerprint(), whole);
      continue;
    }
    ++failed;
    EXPECT_THAT(failure(source), HasSubstr("cannot read"));
  }
  EXPECT_GT(failed, 0);
  EXPECT_LT(failed, 50);
}

TEST(OpenDescribed, WantsAFormatAndAPath) {
  MemoryStore store;
  EXPECT_THAT(failure(open_described(store, Value(Value::Object()))), HasSubstr("'format'"));
  EXPECT_THAT(failure(open_described(store, *Value::parse(R"({"format":"images"})"))), HasSubstr("'path'"));
}

TEST(Formats, EachHasADocAndWaysToBeOpened) {
  EXPECT_GE(formats().size(), 7u);
  for (const auto& [name, info] : formats()) {
    EXPECT_EQ(name, info.name);
    EXPECT_FALSE(info.doc.empty()) << name;
    EXPECT_TRUE((info.open != nullptr) != (info.make != nullptr)) << name;
    for (const OptionInfo& option : info.options)
      EXPECT_FALSE(option.doc.empty() || option.type.empty()) << name;
  }
}

}  // namespace
}  // namespace headrace
