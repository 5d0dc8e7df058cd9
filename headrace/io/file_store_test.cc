#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "headrace/io/look_up.h"
#include "headrace/io/new_file.h"
#include "headrace/io/skipping_store.h"
#include "headrace/io/store.h"
#include "headrace/io/testing/faulty_store.h"
#include "headrace/io/testing/memory_store.h"
#include "headrace/io/testing/temporary_folder.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> strings(const Names& names) {
  std::vector<std::string> out;
  for (size_t i = 0; i < names.size(); ++i) out.emplace_back(names[i]);
  return out;
}

std::vector<std::string> listed(const std::string& root) {
  const auto listing = file_store()->list(root);
  EXPECT_TRUE(listing.ok()) << listing.status().text();
  return listing.ok() ? strings(listing->files) : std::vector<std::string>();
}

std::string whole(Store& store, const std::string& path) {
  auto file = store.open(path);
  if (!file.ok()) return std::string(file.status().text());
  auto bytes = read_bytes(**file, 0, ~uint64_t{0});
  if (!bytes.ok()) return std::string(bytes.status().text());
  return {reinterpret_cast<const char*>((*bytes)->data()), (*bytes)->size()};
}

TEST(Names, HoldsWhatWasAddedAndReadsItBack) {
  Names names;
  names.add("a b");
  names.add("folder", "\xff\n");
  names.add("", "c");
  names.add("");
  EXPECT_THAT(strings(names), ElementsAre("a b", "folder/\xff\n", "c", ""));
  Names back;
  ASSERT_TRUE(Names::from_text(names.text(), back));
  EXPECT_EQ(strings(back), strings(names));
  EXPECT_FALSE(Names::from_text("no end", back));
}

TEST(FileStore, ListsSortedByBytesOfTheWholePath) {
  TemporaryFolder folder;
  for (const char* name : {"a/x.jpg", "a-b/x.jpg", "ab.jpg", "a/y/z.jpg", "B.jpg", "a/with space.jpg",
                           "a/\xC3\xA9.jpg", "a/\xff.jpg"})
    folder.write(name);
  const std::vector<std::string> names = listed(folder.path());
  EXPECT_THAT(names, ElementsAre("B.jpg", "a-b/x.jpg", "a/with space.jpg", "a/x.jpg", "a/y/z.jpg",
                                 "a/\xC3\xA9.jpg", "a/\xff.jpg", "ab.jpg"));
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
  EXPECT_EQ(names, listed(folder.path() + "//"));
}

std::vector<std::string> told(const std::vector<Listing::Problem>& problems) {
  std::vector<std::string> out;
  for (const Listing::Problem& one : problems) out.push_back(one.path + ": " + one.reason);
  return out;
}

TEST(FileStore, FollowsLinksButNeverInACircle) {
  TemporaryFolder folder;
  folder.write("real/x.jpg", "xyz");
  std::filesystem::create_symlink("real", folder / "linked");
  std::filesystem::create_symlink("../real/x.jpg", folder / "real/y.jpg");
  std::filesystem::create_symlink("..", folder / "real/up");
  std::filesystem::create_symlink("nowhere", folder / "broken.jpg");
  std::filesystem::create_symlink("self", folder / "self");
  const auto refused = file_store()->list(folder.path());
  EXPECT_THAT(std::string(refused.status().text()), HasSubstr("broken.jpg': a link that leads nowhere"));
  EXPECT_EQ(refused.status().error_number(), ENOENT);
  const auto listing = file_store()->list_readable(folder.path());
  ASSERT_TRUE(listing.ok());
  EXPECT_THAT(strings(listing->files),
              ElementsAre("linked/x.jpg", "linked/y.jpg", "real/x.jpg", "real/y.jpg"));
  EXPECT_THAT(told(listing->problems), ElementsAre("linked/up: a link that leads back to a folder it is in",
                                                   "real/up: a link that leads back to a folder it is in"));
  EXPECT_THAT(told(listing->unread),
              ElementsAre("broken.jpg: a link that leads nowhere", "self: a link that leads nowhere"));
  EXPECT_EQ(whole(*file_store(), folder / "linked/y.jpg"), "xyz");
}

TEST(FileStore, FoldersThatLinkToOneAnotherEndInAnErrorAndNotInAnHour) {
  TemporaryFolder folder;
  for (int i = 0; i < 10; ++i) std::filesystem::create_directory(folder / std::to_string(i));
  for (int i = 0; i < 10; ++i)
    for (int j = 0; j < 10; ++j)
      std::filesystem::create_symlink("../" + std::to_string(j),
                                      folder / (std::to_string(i) + "/" + std::to_string(j)));
  const auto listing = file_store()->list(folder.path());
  ASSERT_FALSE(listing.ok());
  EXPECT_THAT(std::string(listing.status().text()), HasSubstr("100000 links"));
}

TEST(FileStore, NeverOpensAPipeOrADevice) {
  TemporaryFolder folder;
  folder.write("x.jpg", "x");
  ASSERT_EQ(::mkfifo((folder / "pipe.jpg").c_str(), 0600), 0);
  const auto listing = file_store()->list(folder.path());
  ASSERT_TRUE(listing.ok());
  EXPECT_THAT(strings(listing->files), ElementsAre("x.jpg"));
  ASSERT_EQ(listing->problems.size(), 1u);
  EXPECT_EQ(listing->problems[0].path, "pipe.jpg");
  EXPECT_THAT(whole(*file_store(), folder / "pipe.jpg"), HasSubstr("not a regular file"));
  EXPECT_THAT(whole(*file_store(), "/dev/null"), HasSubstr("not a regular file"));
}

TEST(FileStore, AFolderNamedLikeAnImageIsAProblemAndStillRead) {
  TemporaryFolder folder;
  folder.write("x.jpg/inside.png");
  const auto listing = file_store()->list(folder.path());
  ASSERT_TRUE(listing.ok());
  EXPECT_THAT(strings(listing->files), ElementsAre("x.jpg/inside.png"));
  ASSERT_EQ(listing->problems.size(), 1u);
  EXPECT_EQ(listing->problems[0].reason, "a folder");
  EXPECT_THAT(whole(*file_store(), folder / "x.jpg"), HasSubstr("it is a folder"));
}

TEST(FileStore, LinksToWhatTheRootIsInAreNotFollowed) {
  TemporaryFolder folder;
  folder.write("root/a/x.jpg");
  folder.write("beside/y.jpg");
  std::filesystem::create_symlink("/", folder / "root/machine");
  std::filesystem::create_symlink("../..", folder / "root/a/up");
  std::filesystem::create_symlink("/proc", folder / "root/processes");
  std::filesystem::create_symlink("../beside", folder / "root/b");
  const auto listing = file_store()->list(folder / "root");
  ASSERT_TRUE(listing.ok());
  EXPECT_THAT(strings(listing->files), ElementsAre("a/x.jpg", "b/y.jpg"));
  EXPECT_THAT(told(listing->problems),
              ElementsAre("a/up: a link that leads back to a folder it is in",
                          "machine: a link that leads back to a folder it is in",
                          "processes: a link that leads to a file system of the kernel"));
}

TEST(FileStore, FoldersThatNeverHoldDataArePassedOver) {
  TemporaryFolder folder;
  for (const char* name : {"a/x.jpg", "lost+found/x.jpg", "a/@eaDir/x.jpg", ".Trash-0/x.jpg"})
    folder.write(name);
  folder.write("b/@eaDir");  // a file may have any name
  std::filesystem::create_symlink("nowhere", folder / "__MACOSX");
  std::filesystem::create_symlink("nowhere", folder / ".hidden");
  const auto listing = file_store()->list(folder.path());
  ASSERT_TRUE(listing.ok());
  EXPECT_THAT(strings(listing->files), ElementsAre("a/x.jpg", "b/@eaDir"));
  EXPECT_THAT(told(listing->problems), ElementsAre(".hidden: a link that leads nowhere"));
  EXPECT_THAT(strings(file_store()->entries(folder.path())->folders), ElementsAre("a", "b"));
}

TEST(FileStore, ALinkThatLeadsNowhereIsNotAbsent) {
  TemporaryFolder folder;
  std::filesystem::create_symlink("nowhere", folder / "link");
  const auto store = file_store();
  EXPECT_FALSE(find(*store, folder / "link").ok());
  EXPECT_FALSE(open_if_there(*store, folder / "link").ok());
  EXPECT_EQ(*find(*store, folder / "none"), std::nullopt);
  EXPECT_EQ(*find(*store, folder / std::string(300, 'x')), std::nullopt);
  EXPECT_EQ(*open_if_there(*store, folder.path()), nullptr);
  EXPECT_TRUE(*has_folder(*store, folder.path()));
  SkippingStore skipping(*store);
  EXPECT_EQ(*find(skipping, folder / "link"), std::nullopt);
  EXPECT_THAT(told(skipping.left_out()), ElementsAre((folder / "link") + ": a link that leads nowhere"));
}

TEST(FileStore, AnUnreadableFolderIsAnErrorUnlessItIsLeftOut) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may read everything";
  TemporaryFolder folder;
  folder.write("open/x.jpg");
  folder.write("closed/x.jpg");
  ::chmod((folder / "closed").c_str(), 0);
  const auto refused = file_store()->list(folder.path());
  const auto listing = file_store()->list_readable(folder.path());
  const auto root = file_store()->list_readable(folder / "closed");
  ::chmod((folder / "closed").c_str(), 0700);
  ASSERT_TRUE(listing.ok());
  EXPECT_THAT(strings(listing->files), ElementsAre("open/x.jpg"));
  EXPECT_THAT(told(listing->unread), ElementsAre("closed: Permission denied"));
  EXPECT_EQ(refused.status().error_number(), EACCES);
  EXPECT_EQ(root.status().code(), Code::io);
}

TEST(FileStore, DeepTreesAreAnErrorAndNoCrash) {
  TemporaryFolder folder;
  std::string deep = "top.jpg";
  folder.write(deep);
  std::string path;
  for (int i = 0; i < 300; ++i) path += "d/";
  folder.write(path + "x.jpg");
  EXPECT_THAT(std::string(file_store()->list(folder.path()).status().text()), HasSubstr("nested folders"));
  const auto listing = file_store()->list_readable(folder.path());
  ASSERT_TRUE(listing.ok());
  EXPECT_THAT(strings(listing->files), ElementsAre("top.jpg"));
  EXPECT_THAT(listing->unread.at(0).reason, HasSubstr("nested folders"));
}

TEST(FileStore, ManyFilesAreListedInOrder) {
  TemporaryFolder folder;
  for (int i = 0; i < 100; ++i) folder.write("class" + std::to_string(i) + "/0.jpg");
  for (int i = 100; i < 20'000; ++i) {  // hard links: the cheapest files
    const std::string in = folder / ("class" + std::to_string(i % 100));
    ASSERT_EQ(::link((in + "/0.jpg").c_str(), (in + "/" + std::to_string(i) + ".jpg").c_str()), 0);
  }
  const std::vector<std::string> names = listed(folder.path());
  EXPECT_EQ(names.size(), 20'000u);
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
}

TEST(FileStore, ReadsExactlyOrSaysWhatThereWas) {
  TemporaryFolder folder;
  folder.write("x", "0123456789");
  auto file = file_store()->open(folder / "x");
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(*(*file)->size(), 10u);
  std::array<std::byte, 4> out;
  EXPECT_TRUE(read_exactly(**file, 6, out).ok());
  EXPECT_EQ(out[3], std::byte{'9'});
  EXPECT_EQ(read_exactly(**file, 8, out).text(), "expected 4 bytes at 8, but the file has 10");
  EXPECT_EQ(read_bytes(**file, 12, 4).status().text(), "expected 4 bytes at 12, but the file has 10");
  EXPECT_EQ(read_bytes(**file, 2, ~uint64_t{0} - 1).status().code(), Code::corrupt);
  EXPECT_EQ(read_bytes(**file, 0, 10, 9).status().code(), Code::exhausted);
  EXPECT_FALSE(read_exactly(**file, ~uint64_t{0}, out).ok());
  EXPECT_EQ((*read_bytes(**file, 4, ~uint64_t{0}))->size(), 6u);
}

TEST(FileStore, ErrorsNameThePath) {
  EXPECT_EQ(file_store()->open("/nowhere/x.jpg").status().text(),
            "cannot access '/nowhere/x.jpg': No such file or directory");
  EXPECT_EQ(file_store()->open("/nowhere/x.jpg").status().code(), Code::not_found);
  EXPECT_EQ(file_store()->list("/nowhere").status().code(), Code::not_found);
  EXPECT_EQ(file_store()->open(std::string("x\0y", 3)).status().code(), Code::invalid);
  EXPECT_EQ(file_store()->info("").status().code(), Code::invalid);
}

TEST(FileStore, DirectoriesCarryTheTimeOfTheirLastChange) {
  TemporaryFolder folder;
  folder.write("a/x.jpg");
  const auto before = file_store()->list(folder.path());
  ASSERT_TRUE(before.ok());
  EXPECT_THAT(strings(before->directories), ElementsAre("", "a"));
  EXPECT_EQ(before->changed_ns[1], file_store()->info(folder / "a")->changed_ns);
  EXPECT_TRUE(file_store()->info(folder / "a")->is_directory);
}

TEST(WriteAtomically, ReplacesWholeFilesAndLeavesNothingBehind) {
  TemporaryFolder folder;
  const std::string path = folder / "index";
  for (const std::string text : {"first", "second, longer", ""}) {
    ASSERT_TRUE(write_atomically(path, std::as_bytes(std::span(text))).ok());
    EXPECT_EQ(whole(*file_store(), path), text);
  }
  EXPECT_THAT(listed(folder.path()), ElementsAre("index"));
  EXPECT_EQ(write_atomically(folder / "no/index", {}).code(), Code::not_found);
}

TEST(WriteAtomically, FollowsTheUmask) {
  const TemporaryFolder folder;
  for (const auto& [mask, wanted] : {std::pair<mode_t, mode_t>{022, 0644}, {077, 0600}, {002, 0664}}) {
    const mode_t before = ::umask(mask);
    const Status status = write_atomically(folder / "state", {});
    ::umask(before);
    ASSERT_TRUE(status.ok()) << status.text();
    struct stat s;
    ASSERT_EQ(::stat((folder / "state").c_str(), &s), 0);
    EXPECT_EQ(s.st_mode & 07777, wanted);
  }
}

TEST(FaultyStore, DoesTheSameEachTimeForTheSameSeed) {
  auto memory = std::make_shared<MemoryStore>();
  memory->add("x", std::string(1000, 'x'));
  int delays = 0;
  const auto run = [&](uint64_t seed) {
    FaultyStore store(
        memory, {.seed = seed, .short_reads = 500, .errors = 200, .delay = [&](auto&, auto) { ++delays; }});
    std::string fates;
    auto file = store.open("x");
    std::array<std::byte, 10> out;
    for (uint64_t at = 0; at < 1000; at += 10) {
      auto count = (*file)->read(at, out);
      fates += count.ok() ? std::to_string(*count) + " " : "! ";
    }
    return fates;
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
  EXPECT_THAT(run(1), HasSubstr("!"));
  EXPECT_EQ(delays, 500);
}

TEST(FaultyStore, ShortReadsAreReadOn) {
  auto memory = std::make_shared<MemoryStore>();
  std::string text;
  for (int i = 0; i < 5000; ++i) text += static_cast<char>(i * 7);
  memory->add("x", text);
  FaultyStore store(memory, {.seed = 3, .short_reads = 900});
  EXPECT_EQ(whole(store, "x"), text);
}

}  // namespace
}  // namespace headrace
