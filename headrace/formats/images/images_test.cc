#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "headrace/formats/images/file_list.h"
#include "headrace/formats/images/image_files.h"
#include "headrace/formats/images/json_map.h"
#include "headrace/formats/opening/open.h"
#include "headrace/io/testing/memory_store.h"
#include "headrace/io/testing/temporary_folder.h"
#include "tests/real_files.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string failure(const Result<SourcePtr>& result) {
  return result.ok() ? "no error" : std::string(result.status().text());
}

// "name label" of every sample, or "name".
std::vector<std::string> samples(const Source& source, Store& store) {
  std::vector<std::string> out;
  for (uint64_t i = 0; i < source.size(); ++i) {
    const auto fields = read_sample(source, i, store);
    std::string line = source.where(i).text();
    if (!fields.ok())
      line += " !" + std::string(fields.status().text());
    else if (fields->size() > 1)
      line += ' ' + std::to_string((*fields)[1].view().as<int64_t>()[0]);
    out.push_back(line);
  }
  return out;
}

std::string image_of(const Source& source, uint64_t index, Store& store) {
  const auto fields = read_sample(source, index, store);
  if (!fields.ok()) return std::string(fields.status().text());
  const View view = (*fields)[0].view();
  return {reinterpret_cast<const char*>(view.data), view.size_bytes()};
}

std::vector<std::string> strings(const Names& names) {
  std::vector<std::string> out;
  for (size_t i = 0; i < names.size(); ++i) out.emplace_back(names[i]);
  return out;
}

TEST(ImageFiles, TheKeyIsTheNameWithoutItsEnding) {
  MemoryStore store;
  for (const char* name : {"data/a/x.jpg", "data/a/y.tar.png", "data/b.c/x.JPEG"}) store.add(name, "bytes");
  Value options;
  options.set("key", true);
  for (const bool labelled : {true, false}) {
    const auto source = open_source(store, "data", labelled ? "image_folder" : "images", options);
    ASSERT_TRUE(source.ok()) << failure(source);
    EXPECT_EQ((*source)->schema().text(),
              labelled ? "image: bytes, label: int64 (), __key__: str" : "image: bytes, __key__: str");
    std::vector<std::string> keys;
    for (uint64_t i = 0; i < (*source)->size(); ++i) {
      const auto fields = read_sample(**source, i, store);
      const View key = fields->back().view();
      keys.emplace_back(key.as<char>(), key.size_bytes());
    }
    EXPECT_THAT(keys, ElementsAre("a/x", "a/y.tar", "b.c/x"));
    EXPECT_NE((*source)->fingerprint(),
              (*open_source(store, "data", labelled ? "image_folder" : "images"))->fingerprint());
  }
}

TEST(NamesAnImage, ByEndingInAnyCaseUnlessHidden) {
  for (const char* name :
       {"x.jpg", "a/x.JPEG", "x.y.PnG", "x.webp", "x.bmp", "x.gif", "x.tif", "./x.TIFF", "../x.jpg"})
    EXPECT_TRUE(names_an_image(name)) << name;
  for (const char* name :
       {"x", "jpg", "x.jpgx", "x.xml", "._x.jpg", "a/.DS_Store", "Thumbs.db", ".git/x.jpg", "x.jpg/y", ""})
    EXPECT_FALSE(names_an_image(name)) << name;
}

TEST(ImageFolder, LabelsAreFoldersInSortedOrder) {
  MemoryStore store;
  // '-' sorts before '/': by name "cat" comes first, by path "cat-wild/…" does.
  for (const char* name :
       {"cat/2.jpg", "cat-wild/1.jpg", "ant/deep/er/3.JPEG", "ant/._3.JPEG", "ant/notes.txt", "labels/x.txt"})
    store.add(std::string("set/train/") + name, name);
  const auto source = open_source(store, "set/train");
  ASSERT_TRUE(source.ok()) << failure(source);
  EXPECT_THAT(samples(**source, store), ElementsAre("set/train/ant/deep/er/3.JPEG 0",
                                                    "set/train/cat-wild/1.jpg 2", "set/train/cat/2.jpg 1"));
  EXPECT_EQ(
      (*source)->metadata().dump(),
      R"({"classes":["ant","cat","cat-wild"],"left_out":{"files":2,"endings":{".txt":2},"folders":["labels"]}})");
  EXPECT_EQ((*source)->schema().text(), "image: bytes, label: int64 ()");
  EXPECT_EQ(image_of(**source, 2, store), "cat/2.jpg");
}

TEST(ImageFolder, FoldersWithoutImagesKeepTheirNumber) {
  MemoryStore store;
  for (const char* name : {"a/1.jpg", "annotations/1.txt", "b/1.heic", "c/1.jpg", "d/.gitkeep", "e/1.jpg"})
    store.add(std::string("d/") + name, "");
  const auto source = open_source(store, "d");
  ASSERT_TRUE(source.ok()) << failure(source);
  EXPECT_THAT(samples(**source, store), ElementsAre("d/a/1.jpg 0", "d/c/1.jpg 2", "d/e/1.jpg 4"));
  EXPECT_THAT(
      (*source)->metadata().dump(),
      HasSubstr("2 of 5 class folders have no images that can be read and keep their labels: 'b', 'd'"));
}

TEST(ImageFolder, GivenClassesFixTheLabels) {
  MemoryStore store;
  for (const char* name : {"a/1.jpg", "b/1.jpg", "c/1.jpg"}) store.add(std::string("d/") + name, "");
  const auto open = [&](const char* options) {
    return open_source(store, "d", "image_folder", *Value::parse(options));
  };
  const auto two = open(R"({"classes":["c","a"]})");
  ASSERT_TRUE(two.ok()) << failure(two);
  EXPECT_THAT(samples(**two, store), ElementsAre("d/a/1.jpg 1", "d/c/1.jpg 0"));
  const auto more_than_there_are = open(R"({"classes":["c","x","a","b"]})");
  ASSERT_TRUE(more_than_there_are.ok()) << failure(more_than_there_are);
  EXPECT_THAT(samples(**more_than_there_are, store),
              ElementsAre("d/a/1.jpg 2", "d/b/1.jpg 3", "d/c/1.jpg 0"));
  EXPECT_THAT(failure(open(R"({"classes":["c","x","a"]})")),
              HasSubstr("classes: expected folders with images, got 'x'; folders not listed are 'b'"));
}

TEST(ImageFolder, SplitsAreNotTakenForClasses) {
  MemoryStore store;
  for (const char* name : {"train/a/1.jpg", "train/b/1.jpg", "val/a/1.jpg"})
    store.add(std::string("d/") + name, "");
  EXPECT_THAT(
      failure(open_source(store, "d")),
      HasSubstr(
          "contains the splits \"train\", \"val\"; set split= to one of these names, a list of them, or "
          "\"all\", or open one of them, such as 'd/train'; if they are classes, set "
          "format=\"image_folder\""));
  EXPECT_EQ((*open_source(store, "d/train"))->size(), 2u);
  EXPECT_EQ((*open_source(store, "d", "image_folder"))->size(), 3u);
}

TEST(Images, AFlatFolderHasNoLabels) {
  MemoryStore store;
  store.add("d/b.jpg", "B");
  store.add("d/a.png", "A");
  store.add("d/readme.txt", "");
  const auto source = open_source(store, "d");
  ASSERT_TRUE(source.ok()) << failure(source);
  EXPECT_THAT(samples(**source, store), ElementsAre("d/a.png", "d/b.jpg"));
  EXPECT_EQ((*source)->describe().dump(), R"({"format":"images","path":"d"})");
  EXPECT_EQ(
      failure(open_source(store, "d", "image_folder")),
      "image_folder: 'd': expected at least one image, found none among files with the extensions .txt (1); "
      "it looks like images, which read() recognises");
}

TEST(Images, WhatIsLeftOutIsCountedByEnding) {
  MemoryStore store;
  for (const char* name : {"x.jpg", "1.HEIC", "2.heic", "b/3.JPG_bak", "b/readme", "b/.hidden", ".git/x.png"})
    store.add(std::string("d/") + name, "");
  const auto source = open_source(store, "d");
  ASSERT_TRUE(source.ok()) << failure(source);
  EXPECT_EQ((*source)->metadata().dump(),
            R"({"left_out":{"files":4,"endings":{".heic":2,".jpg_bak":1,"none":1}}})");
  for (const char* name : {"1.jfif", "2.jfif", "3"}) store.add(std::string("e/") + name, "");
  EXPECT_THAT(
      failure(open_source(store, "e")),
      HasSubstr("a folder of 3 files: '1.jfif', '2.jfif', '3'; extensions .jfif (2), none (1); set format="));
}

TEST(Images, FingerprintHoldsNamesAndLabelsAndNoRoot) {
  MemoryStore store;
  for (const char* name : {"x/a/1.jpg", "x/b/1.jpg", "y/a/1.jpg", "y/b/1.jpg", "z/a/1.jpg", "z/b/2.jpg"})
    store.add(name, "");
  const auto print = [&](const char* path, const char* format) {
    return (*open_source(store, path, format))->fingerprint();
  };
  EXPECT_EQ(print("x", "image_folder"), print("y", "image_folder"));
  EXPECT_NE(print("x", "image_folder"), print("z", "image_folder"));
  EXPECT_NE(print("x", "image_folder"), print("x", "images"));
}

TEST(Images, LinksAndNamesOfAnyBytesAreRead) {
  TemporaryFolder folder;
  folder.write("real/\xC3\xA9 \xE4\xBA\xBA.jpg", "bytes");
  std::filesystem::create_symlink("real", folder / "linked");
  std::filesystem::create_directory(folder / "x.png");
  const auto source = open_source(*file_store(), folder.path());
  ASSERT_TRUE(source.ok()) << failure(source);
  EXPECT_EQ((*source)->size(), 2u);
  EXPECT_EQ(image_of(**source, 0, *file_store()), "bytes");
  EXPECT_THAT((*source)->metadata().dump(),
              HasSubstr(R"("problems":[{"path":"x.png","reason":"a folder"}])"));
  std::filesystem::remove(folder / "real/\xC3\xA9 \xE4\xBA\xBA.jpg");
  EXPECT_THAT(image_of(**source, 0, *file_store()), HasSubstr("No such file or directory: "));
}

TEST(FileList, SplitsAtTheLastBlankBeforeANumber) {
  const auto list = parse_file_list(
      "\xEF\xBB\xBF"
      "a b.jpg 3\r\n\n  \nc\t-1\nd e 5.jpg \t 007");
  ASSERT_TRUE(list.ok()) << list.status().text();
  EXPECT_THAT(strings(list->names), ElementsAre("a b.jpg", "c", "d e 5.jpg"));
  EXPECT_THAT(list->numbers, ElementsAre(3, -1, 7));
  const auto bare = parse_file_list("a 1.jpg\n# b\n12\n../x\n/abs/y");
  ASSERT_TRUE(bare.ok());
  EXPECT_THAT(strings(bare->names), ElementsAre("a 1.jpg", "# b", "12", "../x", "/abs/y"));
  EXPECT_THAT(bare->numbers, IsEmpty());
}

TEST(FileList, MxnetListsHaveTheLabelBetweenNumberAndPath) {
  const auto list = parse_file_list("0\t26.000000\tn01/a b.JPEG\n7\t3\tc.jpg\r\n");
  ASSERT_TRUE(list.ok());
  EXPECT_THAT(strings(list->names), ElementsAre("n01/a b.JPEG", "c.jpg"));
  EXPECT_THAT(list->numbers, ElementsAre(26, 3));
  EXPECT_EQ(parse_file_list("x\t26\tc.jpg")->names[0], "x\t26\tc.jpg");  // an unusual name
  EXPECT_EQ(parse_file_list("0\t0.5\tc.jpg")->names[0], "0\t0.5\tc.jpg");
  EXPECT_THAT(parse_file_list("1\t2\t3")->numbers, ElementsAre(3));
}

TEST(FileList, HostileTextIsAnErrorWithItsLine) {
  const struct {
    std::string text, wanted;
  } cases[] = {
      {"a.jpg\nb.jpg 1\n", "line 2: expected no label, as in the lines before, got 'b.jpg'"},
      {std::string("a\nb\0c\n", 6), "line 2: expected text, got a NUL byte"},
      {"a 99999999999999999999", "line 1: expected a 64-bit label, got 99999999999999999999"},
  };
  for (const auto& c : cases) EXPECT_EQ(parse_file_list(c.text).status().text(), c.wanted);
  EXPECT_TRUE(parse_file_list("").ok());
  EXPECT_EQ(parse_file_list(std::string(1 << 20, 'x'))->names[0].size(), size_t{1} << 20);
}

TEST(FileList, PathsAreRelativeToTheListOrRoot) {
  MemoryStore store;
  store.add("d/list.txt", "x 1.jpg 5\n/abs/y.jpg 6\n../z.jpg 7\n");
  store.add("d/x 1.jpg", "X"), store.add("/abs/y.jpg", "Y"), store.add("d/../z.jpg", "Z"),
      store.add("e/x 1.jpg", "E");
  const auto source = open_source(store, "d/list.txt");
  ASSERT_TRUE(source.ok()) << failure(source);
  EXPECT_THAT(samples(**source, store), ElementsAre("d/x 1.jpg 5", "/abs/y.jpg 6", "d/../z.jpg 7"));
  const auto moved = open_source(store, "d/list.txt", "", *Value::parse(R"({"root":"e"})"));
  EXPECT_EQ(image_of(**moved, 0, store), "E");
  const auto again = open_described(store, (*moved)->describe());
  EXPECT_EQ(image_of(**again, 0, store), "E");
  EXPECT_EQ((*again)->fingerprint(), (*source)->fingerprint());
}

TEST(FileList, IlsvrcListsNumberTheirLinesAndLeaveTheEndingOut) {
  MemoryStore store;
  store.add("sets/train_cls.txt", "n02/n02_5 1\nn01/n01_7 2\nn01/n01_8 3\n");
  store.add("sets/val.txt", "ILSVRC2012_val_00000001 1\nILSVRC2012_val_00000002 2\n");
  store.add("train/n02/n02_5.JPEG", "A");
  const auto train = open_source(store, "sets/train_cls.txt", "", *Value::parse(R"({"root":"train"})"));
  ASSERT_TRUE(train.ok()) << failure(train);
  EXPECT_EQ(samples(**train, store)[0], "train/n02/n02_5.JPEG 1");
  EXPECT_EQ(image_of(**train, 0, store), "A");
  EXPECT_EQ((*train)->metadata().dump(), R"({"classes":["n01","n02"]})");
  EXPECT_EQ((*open_source(store, "sets/val.txt"))->schema().text(), "image: bytes");
  const auto labels = open_source(store, "sets/val.txt", "", *Value::parse(R"({"numbers":"label"})"));
  EXPECT_EQ((*labels)->schema().text(), "image: bytes, label: int64 ()");
}

TEST(FileList, OtherTextIsNotRecognised) {
  for (const char* text :
       {"", "\n\n", "some prose\nwith lines\n", "1 2 3\n4 5 6\n", "{\"a\": 1}", "a,b\n1,2\n"}) {
    MemoryStore store;
    store.add("d/x.txt", text);
    EXPECT_FALSE(open_source(store, "d/x.txt").ok()) << text;
  }
}

TEST(JsonMap, ReadsPathsInOrder) {
  MemoryStore store;
  store.add("d/map.json", " {\n\"ILSVRC/b x.JPEG\" : 524,\n \"a\\u00e9.png\": -1}\n");
  const auto source = open_source(store, "d/map.json");
  ASSERT_TRUE(source.ok()) << failure(source);
  EXPECT_EQ((*source)->where(1).text(), "d/a\xC3\xA9.png");
  const auto map = parse_json_map(R"({"b":9223372036854775807,"a":0})");
  EXPECT_THAT(strings(map->names), ElementsAre("b", "a"));
  EXPECT_THAT(map->labels, ElementsAre(9223372036854775807, 0));
}

TEST(JsonMap, AnythingElseIsAnError) {
  std::string deep(1'000'000, '[');
  const struct {
    std::string text, wanted;
  } cases[] = {
      {"", "not JSON at byte"},
      {"[1]", "expected an object, got a list"},
      {"3", "expected an object, got 3"},
      {deep, "got a list"},
      {"{\"a\":" + deep, "integer for 'a', got a list"},
      {R"({"a":{"b":1}})", "integer for 'a', got an object"},
      {R"({"a":1.5})", "got 1.5"},
      {R"({"a":18446744073709551615})", "got 18446744073709551615"},
      {R"({"a":1e999})", "not JSON"},
      {R"({"a":true})", "got a bool"},
      {R"({"a":"1"})", "got a string"},
      {R"({"a":null})", "got null"},
      {R"({"a\u0000b":1})", "NUL"},
      {R"({"":1})", "empty"},
      {R"({"a":1)", "not JSON at byte"},
      {R"({"a":1} x)", "not JSON"},
      {"{\"\xff\":1}", "not JSON at byte"},
      {std::string("{\"a\0b\":1}", 9), "not JSON at byte"},
  };
  for (const auto& c : cases)
    EXPECT_THAT(std::string(parse_json_map(c.text).status().text()), HasSubstr(c.wanted))
        << c.text.substr(0, 40);
}

TEST(RealFiles, Cifar10FoldersAreClasses) {
  const std::string data = testing::data_folder();
  if (data.empty()) GTEST_SKIP() << "HEADRACE_DATA is not set";
  const std::string root = data + "/mnist_cifar/YoongiKim__CIFAR-10-images";
  EXPECT_THAT(failure(open_source(*file_store(), root)), HasSubstr("such as '" + root + "/test'"));
  const auto source = open_source(*file_store(), root + "/test");
  ASSERT_TRUE(source.ok()) << failure(source);
  EXPECT_EQ((*source)->metadata().find("classes")->dump(),
            R"(["airplane","automobile","bird","cat","deer","dog","frog","horse","ship","truck"])");
  for (const uint64_t i : {uint64_t{0}, (*source)->size() - 1})
    EXPECT_TRUE(image_of(**source, i, *file_store()).starts_with("\xff\xd8\xff"));
}

TEST(RealFiles, DalisFileListIsRead) {
  const std::string data = testing::data_folder();
  if (data.empty()) GTEST_SKIP() << "HEADRACE_DATA is not set";
  const std::string folder = data + "/annotations/NVIDIA__DALI_extra/db/coco_dummy";
  Value options;
  options.set("root", folder + "/images");
  const auto source = open_source(*file_store(), folder + "/file_list.txt", "", options);
  ASSERT_TRUE(source.ok()) << failure(source);
  EXPECT_EQ((*source)->schema().text(), "image: bytes, label: int64 ()");
  EXPECT_TRUE(image_of(**source, 0, *file_store()).starts_with("\xff\xd8\xff"));
}

}  // namespace
}  // namespace headrace
