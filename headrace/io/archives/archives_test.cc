#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "headrace/formats/npy/testing.h"
#include "headrace/io/archives/archive.h"
#include "headrace/io/archives/archive_store.h"
#include "headrace/io/archives/squashfs_layout.h"
#include "headrace/io/archives/unpacked_cache.h"
#include "headrace/io/testing/memory_store.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> texts(const Names& names) {
  std::vector<std::string> out;
  for (size_t i = 0; i < names.size(); ++i) out.emplace_back(names[i]);
  return out;
}

using Texts = std::vector<std::string>;

TEST(CleanPath, LeavesNothingToCleanOrLeadsOut) {
  EXPECT_EQ(clean_path("a/b"), "a/b");
  EXPECT_EQ(clean_path("/a//./b/"), "a/b");
  EXPECT_EQ(clean_path("a/../b"), "b");
  EXPECT_EQ(clean_path(""), "");
  EXPECT_EQ(clean_path("a/../../b"), std::nullopt);
}

TEST(ArchiveContents, AreSortedAndTheLaterOfTwoCounts) {
  ArchiveContents contents;
  contents.add_file("b/2", 0);
  contents.add_file("b-1", 1);
  contents.add_file("./a//x", 2);
  contents.add_file("b/2", 3);
  contents.add_file("/etc/passwd", 4);
  contents.add_file("../out", 5);
  contents.add_file(std::string_view("n\0l", 3), 6);
  contents.add_folder("empty/inner/");
  contents.add_folder("b");
  const auto names = contents.finish();
  ASSERT_TRUE(names.ok());
  const Listing listing = names->list("");
  EXPECT_EQ(texts(listing.files), (Texts{"a/x", "b-1", "b/2", "etc/passwd"}));
  EXPECT_EQ(names->find("b/2"), 3u);
  EXPECT_EQ(names->find("b"), std::nullopt);
  EXPECT_EQ(listing.problems.size(), 2u);
  EXPECT_TRUE(names->has_folder("b") && names->has_folder("empty") && names->has_folder("empty/inner"));
  EXPECT_FALSE(names->has_folder("b-1") || names->has_folder("e"));
  const Entries root = names->entries("");
  EXPECT_EQ(texts(root.files), (Texts{"b-1"}));
  EXPECT_EQ(texts(root.folders), (Texts{"a", "b", "empty", "etc"}));
  EXPECT_EQ(texts(names->entries("empty").folders), (Texts{"inner"}));
}

TEST(ArchiveContents, LinksAreFollowedInside) {
  ArchiveContents contents;
  contents.add_file("c/x", 1);
  contents.add_file("c/d/y", 2);
  contents.add_link("a", "b");  // through the next one
  contents.add_link("b", "./c/");
  contents.add_link("c/z", "../c/d/y");
  contents.add_link("c/up", "..");
  contents.add_link("self", "self");
  contents.add_link("out", "/c/x");
  const auto names = contents.finish();
  ASSERT_TRUE(names.ok());
  EXPECT_EQ(names->find("c/z"), 2u);
  EXPECT_EQ(names->find("b/x"), 1u);
  EXPECT_EQ(names->find("a/d/y"), 2u);
  EXPECT_EQ(names->list("").problems.size(), 1u);  // c/up
  EXPECT_EQ(names->list("").unread.size(), 2u);    // self, out
  EXPECT_EQ(names->entries("").unread.size(), 2u);
}

TEST(ArchiveContents, LinksThatDoubleEndInAnError) {
  ArchiveContents contents;
  contents.add_file("0/a-name-of-some-length-that-is-there-many-times", 0);
  for (int i = 1; i <= 30; ++i)
    for (const char* side : {"/l", "/r"})
      contents.add_link(std::to_string(i) + side, "../" + std::to_string(i - 1));
  EXPECT_THAT(std::string(contents.finish().status().text()), HasSubstr("are they circular"));
}

std::string read_text(Store& store, const std::string& path) {
  const auto file = store.open(path);
  if (!file.ok()) return std::string(file.status().text());
  const auto bytes = read_bytes(**file, 0, ~uint64_t{0});
  if (!bytes.ok()) return std::string(bytes.status().text());
  return {reinterpret_cast<const char*>((*bytes)->data()), (*bytes)->size()};
}

TEST(ArchiveStore, PathsLeadThroughZips) {
  for (const bool is_wide : {false, true}) {
    const auto files = std::make_shared<MemoryStore>();
    const std::string zip =
        zip_file({{"a/one.txt", "1"}, {"a/two.txt", std::string(5000, '2'), true}}, is_wide);
    files->add("x.zip", zip);
    files->add("y.txt", "no archive");
    const auto store = with_archives(files);
    EXPECT_EQ(read_text(*store, "x.zip"), zip);
    EXPECT_EQ(store->info("x.zip")->size, zip.size());
    EXPECT_TRUE(store->info("x.zip/")->is_directory);
    EXPECT_TRUE(store->info("x.zip/a")->is_directory);
    EXPECT_EQ(store->info("x.zip/a/two.txt")->size, 5000u);
    EXPECT_EQ(read_text(*store, "x.zip/a/one.txt"), "1");
    EXPECT_EQ(read_text(*store, "x.zip/a/../a/two.txt"), std::string(5000, '2'));
    EXPECT_EQ(texts(store->list("x.zip/a")->files), (Texts{"one.txt", "two.txt"}));
    EXPECT_EQ(texts(store->entries("x.zip/")->folders), (Texts{"a"}));
    EXPECT_EQ(store->open("x.zip/b").status().code(), Code::not_found);
    EXPECT_EQ(store->open("y.txt/b").status().code(), Code::not_found);
    EXPECT_THAT(read_text(*store, "x.zip/a"), HasSubstr("it is a folder"));
    files->add("x.zip", zip_file({{"b", "other"}}, is_wide));
    EXPECT_EQ(read_text(*store, "x.zip/b"), "other");
  }
}

TEST(ArchiveStore, PartsOfAMember) {
  const auto files = std::make_shared<MemoryStore>();
  std::string text;
  for (int i = 0; i < 2000; ++i) text += std::to_string(i) + " ";
  files->add("x.zip", zip_file({{"t", text, true}, {"u", text}}));
  const auto store = with_archives(files);
  for (const char* name : {"x.zip/t", "x.zip/u"}) {
    const auto file = store->open(name);
    ASSERT_TRUE(file.ok());
    std::string part(100, ' ');
    ASSERT_TRUE(read_exactly(**file, 4000, std::as_writable_bytes(std::span(part))).ok());
    EXPECT_EQ(part, text.substr(4000, 100));
    EXPECT_EQ(*(*file)->read(text.size(), std::as_writable_bytes(std::span(part))), 0u);
  }
}

TEST(ArchiveStore, ADamagedZipIsNamed) {
  const auto files = std::make_shared<MemoryStore>();
  const std::string zip = zip_file({{"a", "1"}});
  files->add("cut.zip", zip.substr(0, zip.size() - 4));
  EXPECT_THAT(read_text(*with_archives(files), "cut.zip/a"),
              ::testing::AllOf(HasSubstr("'cut.zip'"), HasSubstr("directory at its end")));
}

TEST(UnpackedCache, MakesOnceAndStaysWithinItsBound) {
  UnpackedCache cache(1000);
  std::atomic<int> made = 0;
  const auto make = [&]() -> Result<BufferPtr> {
    ++made;
    return BufferPtr(HeapBuffer::make(100));
  };
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (uint64_t i = 0; i < 8; ++i) EXPECT_TRUE(cache.get({1, i}, 100, make).ok());
    });
  threads.clear();
  EXPECT_EQ(made, 8);
  for (uint64_t i = 0; i < 100; ++i) EXPECT_TRUE(cache.get({2, i}, 100, make).ok());
  EXPECT_LE(cache.held_bytes(), 1000u);
  const auto fail = []() -> Result<BufferPtr> { return corrupt("no"); };
  EXPECT_FALSE(cache.get({3, 0}, 100, fail).ok());
  EXPECT_TRUE(cache.get({3, 0}, 100, make).ok());
}

TEST(Squashfs, ASuperblockIsChecked) {
  std::string head(96, '\0');
  head.replace(0, 4, "hsqs");
  const auto status = [&] {
    return std::string(
        squashfs::read_superblock(std::as_bytes(std::span(head)), head.size()).status().text());
  };
  EXPECT_THAT(status(), HasSubstr("expected squashfs 4.0, got 0.0"));
  head[28] = 4;
  EXPECT_THAT(status(), HasSubstr("a power of two"));
  head[14] = 2, head[40] = 97;
  EXPECT_THAT(status(), HasSubstr("cut off"));
  head[40] = 96, head[64] = 96, head[72] = 96, head[20] = 4;
  EXPECT_THAT(status(), HasSubstr("got xz"));
}

}  // namespace
}  // namespace headrace
