#include "headrace/formats/index/list_memory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "headrace/core/text/text.h"
#include "headrace/formats/index/recalling_store.h"
#include "headrace/formats/index/unchanged.h"
#include "headrace/io/look_up.h"
#include "headrace/io/testing/cache_in.h"
#include "headrace/io/testing/temporary_folder.h"
#include "headrace/io/wrapped_store.h"

namespace headrace {
namespace {

using std::chrono::milliseconds;

// Until names that are looked up now are told, by the clock of the disk, from those written before.
void settle() { std::this_thread::sleep_for(milliseconds(60)); }

std::optional<ListIndex> read_back(const ListIndex& index) {
  std::map<std::string, std::string> texts;
  for (const MadeSection& section : list_index_sections(index)) {
    std::string& text = texts[section.name];
    EXPECT_TRUE(section
                    .make([&](std::span<const std::byte> bytes) {
                      text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
                      return Status();
                    })
                    .ok());
  }
  return list_index_from([&](std::string_view name) -> BufferPtr {
    const auto it = texts.find(std::string(name));
    if (it == texts.end()) return nullptr;
    const auto owner = std::make_shared<const std::string>(it->second);
    return std::make_shared<const BorrowedBuffer>(text_bytes(*owner), owner);
  });
}

TEST(ListIndex, ReadsBackAsItWasWritten) {
  ListIndex index;
  index.folders["data"] = {.mtime_ns = 5, .changed_ns = 6, .is_directory = true};
  index.names["data/x.tar"] = {true, {.size = 10, .mtime_ns = -3, .changed_ns = 4}};
  index.names["data/x.idx"] = {};
  index.entries["data"].files.add("x.tar");
  index.entries["data"].folders.add("sub");
  Listing listing;
  listing.files.add("x.tar"), listing.directories.add(""), listing.changed_ns = {6};
  index.listings["data"] = listing;
  index.heads["data/x.tar"] = std::string("\0head", 5);
  const FileIndex records{{{100, 16}, {116, 20}}, "extra", {{1, 116, "torn"}}};
  index.records[records_key("tar 1", "data/x.tar")] = pack_index(records);
  index.records[records_key("tar 1", "data/y.tar")] = {.file = {.size = 3}, .sample = 7, .is_damaged = true};
  const auto again = read_back(index);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->folders, index.folders);
  EXPECT_EQ(again->names, index.names);
  EXPECT_EQ(again->entries.at("data").files[0], "x.tar");
  EXPECT_EQ(again->entries.at("data").folders[0], "sub");
  EXPECT_EQ(again->listings.at("data").files[0], "x.tar");
  EXPECT_EQ(again->listings.at("data").changed_ns, listing.changed_ns);
  EXPECT_EQ(again->heads, index.heads);
  EXPECT_EQ(unpack_index(again->records.at(records_key("tar 1", "data/x.tar"))), records);
  EXPECT_TRUE(again->records.at(records_key("tar 1", "data/y.tar")).is_damaged);
  EXPECT_TRUE(read_back({}));
}

TEST(ListIndex, CutSectionsAreNone) {
  ListIndex index;
  index.folders["data"] = {}, index.names["a"] = {true, {}}, index.heads["a"] = "x";
  index.entries["data"].files.add("a");
  index.records[records_key("k", "a")] = pack_index({{{0, 1}}, ""});
  const auto sections = list_index_sections(index);
  for (const MadeSection& cut : sections) {
    if (cut.name == "listings") continue;  // has nothing to cut
    const auto made = list_index_from([&](std::string_view name) -> BufferPtr {
      for (const MadeSection& one : sections) {
        if (one.name != name) continue;
        auto text = std::make_shared<std::string>();
        (void)one.make([&](std::span<const std::byte> bytes) {
          text->append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
          return Status();
        });
        if (one.name == cut.name) text->pop_back();
        return std::make_shared<const BorrowedBuffer>(text_bytes(*text), text);
      }
      return nullptr;
    });
    EXPECT_FALSE(made) << cut.name;
  }
}

// Counts what is asked of the file system.
class CountingStore final : public WrappedStore {
 public:
  CountingStore() : WrappedStore(file_store()) {}
  Result<std::unique_ptr<OpenFile>> open(const std::string& path) override {
    return ++opened, store_->open(path);
  }
  Result<std::unique_ptr<OpenFile>> open_known(const std::string& path) override {
    return ++opened, store_->open_known(path);
  }
  Result<FileInfo> info(const std::string& path) override { return ++asked, store_->info(path); }
  Result<Entries> entries(const std::string& path) override { return ++listed, store_->entries(path); }
  bool persistent() const override { return true; }

  int opened = 0, asked = 0, listed = 0;
};

class MemoryOfAList : public ::testing::Test {
 protected:
  MemoryOfAList() {
    std::filesystem::create_directory(folder_ / "data");
    for (int i = 0; i < kFiles; ++i) write(i, "0123456789");
    settle();
  }
  std::string path(int i) const { return folder_ / ("data/" + std::to_string(i)); }
  void write(int i, const std::string& bytes) { folder_.write("data/" + std::to_string(i), bytes); }

  // Asks for all files, and for one beside each that is not there; returns how often the file system was
  // asked.
  int look(ListMemory& memory, CountingStore& store) {
    RecallingStore recalling(memory);
    store.asked = 0;
    for (int i = 0; i < kFiles; ++i) {
      const auto info = recalling.info(path(i));
      EXPECT_EQ(info.ok() ? info->size : 0, std::filesystem::file_size(path(i)));
      EXPECT_FALSE(*has_file(recalling, path(i) + ".idx"));
    }
    EXPECT_EQ(recalling.entries(folder_ / "data")->files.size(), static_cast<size_t>(kFiles));
    return store.asked;
  }
  int look() {
    CountingStore store;
    ListMemory memory(store, std::vector<std::string>{folder_ / "data/*"});
    const int out = look(memory, store);
    memory.keep("kind 1", path(0), pack_index({{{0, 10}}, ""}));
    EXPECT_TRUE(memory.save(false).ok());
    return out;
  }

  static constexpr int kFiles = 20;
  TemporaryFolder folder_;
  CacheIn cache_{folder_ / "cache"};
};

TEST_F(MemoryOfAList, AnswersForAllThatWasAsked) {
  EXPECT_EQ(look(), 2 * kFiles + 1);
  EXPECT_EQ(look(), 3);  // the folder, the first file, the last one written
}

TEST_F(MemoryOfAList, IsNotBelievedOfAFolderThatChanged) {
  look();
  folder_.write("data/new", "");
  CountingStore store;
  ListMemory memory(store, std::vector<std::string>{folder_ / "data/*"});
  RecallingStore recalling(memory);
  EXPECT_FALSE(recalling.info(path(0))->is_recalled);
  EXPECT_TRUE(*has_file(recalling, folder_ / "data/new"));
}

TEST_F(MemoryOfAList, IsNotBelievedWhereTheFirstOrTheLastFileChanged) {
  look();
  write(kFiles - 1, "012");  // the last to be written
  settle();
  EXPECT_GT(look(), kFiles);
  EXPECT_EQ(look(), 3);
  write(0, "01234");
  settle();
  EXPECT_GT(look(), kFiles);
  EXPECT_EQ(look(), 2);  // it is both
}

TEST_F(MemoryOfAList, NamesLookedUpInAFolderThatJustChangedAreNotStored) {
  folder_.write("data/new", ""), std::filesystem::remove(folder_ / "data/new");
  look();
  EXPECT_GT(look(), kFiles);
  settle();
  look();
  EXPECT_EQ(look(), 3);
}

TEST_F(MemoryOfAList, AFileThatIsAnotherOneByNowIsAnErrorWhenItIsOpened) {
  look();
  write(7, "0123456789ab");
  settle();
  CountingStore store;
  ListMemory memory(store, std::vector<std::string>{folder_ / "data/*"});
  RecallingStore recalling(memory);
  EXPECT_FALSE(recalling.info(path(0))->is_recalled && !recalling.info(path(0)).ok());
  const FileInfo info = *recalling.info(path(7));
  if (!info.is_recalled) GTEST_SKIP() << "it was the last one written";
  EXPECT_EQ(info.size, 10u);
  bool is_dropped = false;
  SourceFile file = source_file(path(7), info);
  file.recalled->drop = [&] { is_dropped = true; };
  const auto opened = open_unchanged(store, file);
  ASSERT_FALSE(opened.ok());
  EXPECT_NE(opened.status().text().find("changed since its index was made"), std::string::npos)
      << opened.status().text();
  EXPECT_EQ(opened.status().facts().file, path(7));
  EXPECT_TRUE(is_dropped);
  EXPECT_FALSE(recalling.open(path(7)).ok());
  EXPECT_FALSE(memory.bears_out(Status(Code::io, "an error")));
  EXPECT_EQ(recalling.info(path(7))->size, 12u);
}

TEST_F(MemoryOfAList, NamesOfAFolderThatChangesWhileTheyAreLookedUpAreNotStored) {
  {
    CountingStore store;
    ListMemory memory(store, std::vector<std::string>{folder_ / "data/*"});
    RecallingStore recalling(memory);
    EXPECT_FALSE(*has_file(recalling, folder_ / "data/new"));
    folder_.write("data/new", "");
    EXPECT_TRUE(recalling.info(path(0)).ok());
    memory.keep("kind 1", path(0), pack_index({{{0, 10}}, ""}));
    EXPECT_TRUE(memory.save(false).ok());
  }
  CountingStore store;
  ListMemory memory(store, std::vector<std::string>{folder_ / "data/*"});
  RecallingStore recalling(memory);
  EXPECT_TRUE(*has_file(recalling, folder_ / "data/new"));
  EXPECT_FALSE(recalling.info(path(0))->is_recalled);
}

TEST_F(MemoryOfAList, TheLastFileWrittenIsThatOfAllFolders) {
  std::filesystem::create_directory(folder_ / "other");
  folder_.write("other/x", "0123456789");
  settle();
  const std::vector<std::string> paths{folder_ / "data/0", folder_ / "other/x"};
  const auto recalls = [&] {
    CountingStore store;
    ListMemory memory(store, paths);
    RecallingStore recalling(memory);
    bool out = false;
    for (const std::string& one : paths) out = recalling.info(one)->is_recalled || out;
    memory.keep("kind 1", paths[0], pack_index({{{0, 10}}, ""}));
    EXPECT_TRUE(memory.save(false).ok());
    return out;
  };
  EXPECT_FALSE(recalls());
  EXPECT_TRUE(recalls());
  folder_.write("other/x", "012");  // of a folder that is asked for second
  settle();
  EXPECT_FALSE(recalls());
}

TEST_F(MemoryOfAList, IsNotStoredWhileAnotherHoldsTheLock) {
  CountingStore store;
  const std::vector<std::string> paths{folder_ / "data/*"};
  ListMemory memory(store, paths), other(store, paths);
  look(memory, store);
  memory.keep("kind 1", path(0), pack_index({{{0, 10}}, ""}));
  {
    const auto held = other.lock(nullptr);
    ASSERT_TRUE(held.ok());
    EXPECT_EQ(memory.save(false).code(), Code::unavailable);
    EXPECT_FALSE(stored_list(ListPlace::of(paths)->in_cache()));
  }
  EXPECT_TRUE(memory.save(false).ok());  // nothing of it was lost
  EXPECT_TRUE(stored_list(ListPlace::of(paths)->in_cache()));
}

TEST_F(MemoryOfAList, IsSharedByRelativeAndAbsolutePaths) {
  look();
  const auto here = std::filesystem::current_path();
  std::filesystem::current_path(folder_ / "data");
  CountingStore store;
  ListMemory memory(store, std::vector<std::string>{"*"});
  RecallingStore recalling(memory);
  EXPECT_TRUE(recalling.info("3")->is_recalled);
  EXPECT_TRUE(recalling.info("./4")->is_recalled);
  EXPECT_TRUE(recalling.info("../data/5")->is_recalled);
  std::filesystem::current_path(here);
}

}  // namespace
}  // namespace headrace
