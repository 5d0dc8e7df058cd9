#include "headrace/io/file_map.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "headrace/io/page_table.h"
#include "headrace/io/store.h"
#include "headrace/io/testing/temporary_folder.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

constexpr size_t kPage = 4096;  // or a multiple of it, which the sizes below allow for

void somebody(int) {}

// A file of 64 pages that all hold 'x'. Sanitizers and test runners handle SIGBUS, so the default handler is
// restored first.
class FileMaps : public ::testing::Test {
 protected:
  FileMaps() {
    std::signal(SIGBUS, SIG_DFL);
    folder_.write("x", std::string(64 * kPage, 'x'));
  }
  std::string path() const { return folder_.path() + "/x"; }
  std::shared_ptr<const FileMap> map() {
    auto file = file_store()->open(path());
    return file.ok() ? (*file)->map() : nullptr;
  }
  void cut(size_t size) { ASSERT_EQ(::truncate(path().c_str(), static_cast<off_t>(size)), 0); }
  static char at(const FileMap& map, size_t offset) { return static_cast<char>(map.bytes(offset, 1)[0]); }

  TemporaryFolder folder_;
};

TEST_F(FileMaps, ShowTheFile) {
  const auto map = this->map();
  ASSERT_TRUE(map);
  EXPECT_TRUE(map->covers(0, 64 * kPage));
  EXPECT_FALSE(map->covers(1, 64 * kPage));
  EXPECT_FALSE(map->covers(~uint64_t{0}, 2));
  EXPECT_EQ(at(*map, 63 * kPage), 'x');
  map->touch(0, 64 * kPage);
  map->drop_pages();
  EXPECT_EQ(at(*map, 63 * kPage), 'x');
  EXPECT_TRUE(map->is_intact(0, 64 * kPage));
  EXPECT_TRUE(is_mapped(map->bytes(0, 1).data()));
  EXPECT_FALSE(is_mapped(map->bytes(0, 1).data() + 64 * kPage));
  EXPECT_TRUE(check_intact(map->bytes(5, 100)).ok());
  const std::array<std::byte, 4> others{};
  EXPECT_TRUE(check_intact(others).ok());
}

TEST_F(FileMaps, KnowWhichPagesWereTouched) {
  const auto map = this->map();
  ASSERT_TRUE(map);
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  // Pages may be there without having been touched: the kernel maps more. A page that is reported as touched
  // is there.
  const auto check = [&] {
    std::array<bool, 64> there{};
    const auto begin = reinterpret_cast<uintptr_t>(map->bytes(0, 1).data());
    if (!look_up_pages(begin, page, std::span(there).first(64 * kPage / page))) return;
    for (size_t i = 0; i < 64 * kPage / page; ++i) EXPECT_LE(map->is_touched(i * page, page), there[i]) << i;
  };
  EXPECT_FALSE(map->is_touched(0, 1));
  EXPECT_TRUE(map->is_touched(7, 0));
  map->touch(17 * kPage + 5, 1);
  const uint64_t first = map->in_memory();
  EXPECT_GE(first, FileMap::kWindow);
  EXPECT_TRUE(map->is_touched(17 * kPage, 1));
  check();
  map->touch(16 * kPage, 16 * kPage);
  EXPECT_EQ(map->in_memory(), first);  // the window was counted
  EXPECT_TRUE(map->is_touched(16 * kPage, 16 * kPage));
  check();
  map->touch(15 * kPage, 18 * kPage);
  EXPECT_TRUE(map->is_touched(15 * kPage, 18 * kPage));
  map->touch(0, 64 * kPage);
  EXPECT_EQ(map->in_memory(), 4 * FileMap::kWindow);
  EXPECT_TRUE(map->is_touched(0, 64 * kPage));
  check();
  map->drop_pages();
  EXPECT_FALSE(map->is_touched(64 * kPage - 1, 1));
  EXPECT_EQ(map->in_memory(), 0u);
}

// A file that is in the page cache in large pieces, as one that was read from disk, comes in such pieces.
TEST_F(FileMaps, CountWhatTheKernelBrings) {
  folder_.write("y", std::string(size_t{32} << 20, 'y'));
  const auto map = (*file_store()->open(folder_.path() + "/y"))->map();
  ASSERT_TRUE(map);
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  for (uint64_t i = 0; i < 10; ++i) map->touch(i * 3'100'000, 100);
  const uint64_t grown = map->in_memory();
  std::unique_ptr<bool[]> there(new bool[(32 << 20) / page]);
  const std::span all(there.get(), (32 << 20) / page);
  if (!look_up_pages(reinterpret_cast<uintptr_t>(map->bytes(0, 1).data()), page, all))
    GTEST_SKIP() << "the system does not report which pages are there";
  const uint64_t is = static_cast<uint64_t>(std::ranges::count(all, true)) * page;
  EXPECT_GE(2 * grown, is);
  EXPECT_LE(grown, 2 * is + 10 * FileMap::kWindow);
}

TEST_F(FileMaps, ManyAreAskedAtOnce) {
  folder_.write("y", std::string(4 * kPage, 'y'));
  const auto map = this->map(), other = (*file_store()->open(folder_.path() + "/y"))->map();
  ASSERT_TRUE(map && other);
  const std::array<std::byte, 4> neither{};
  IntactOnes all, few;
  EXPECT_TRUE(all.are_intact());
  all.add(neither);
  for (const size_t page : {9, 40, 3}) all.add(map->bytes(page * kPage, 10)), all.add(other->bytes(kPage, 1));
  few.add(map->bytes(9 * kPage, 10)), few.add(map->bytes(3 * kPage, 10));
  EXPECT_TRUE(all.are_intact());
  cut(20 * kPage);
  EXPECT_FALSE(all.are_intact());
  EXPECT_TRUE(few.are_intact());
  few.add(other->bytes(0, 4 * kPage));
  EXPECT_EQ(::truncate((folder_.path() + "/y").c_str(), 5), 0);
  EXPECT_FALSE(few.are_intact());
}

TEST_F(FileMaps, OfAShorterFileShowZerosAndSaySo) {
  const auto map = this->map();
  ASSERT_TRUE(map);
  cut(16 * kPage);
  EXPECT_EQ(at(*map, 40 * kPage + 7), '\0');
  map->touch(0, 64 * kPage);
  EXPECT_TRUE(map->is_intact(0, 16 * kPage));
  EXPECT_FALSE(map->is_intact(0, 16 * kPage + 1));
  EXPECT_FALSE(map->is_intact(40 * kPage, 10));
  EXPECT_THAT(std::string(check_intact(map->bytes(40 * kPage, 10)).text()),
              HasSubstr("expected 10 bytes at byte 163840 of '" + path() + "', but it became shorter"));
  cut(64 * kPage);  // as long as before: what was seen was not the file's
  EXPECT_FALSE(map->is_intact(40 * kPage, 10));
  EXPECT_TRUE(map->is_intact(0, 16 * kPage));
}

TEST_F(FileMaps, CutBetweenTwoLooks) {
  const auto map = this->map();
  ASSERT_TRUE(map);
  map->touch(0, 64 * kPage);
  EXPECT_TRUE(map->is_intact(0, 64 * kPage));
  cut(kPage / 2);  // the rest of its page becomes zeros without a signal
  EXPECT_EQ(at(*map, kPage - 1), '\0');
  EXPECT_FALSE(map->is_intact(0, kPage / 2 + 1));
  EXPECT_TRUE(map->is_intact(0, kPage / 2));
  EXPECT_EQ(at(*map, 63 * kPage), '\0');
  EXPECT_FALSE(map->is_intact(63 * kPage, 1));
}

TEST_F(FileMaps, ManyThreadsLookWhileTheFileIsCut) {
  const auto map = this->map();
  ASSERT_TRUE(map);
  std::atomic<bool> is_cut{false};
  std::atomic<int> wrong{0}, torn{0};
  std::vector<std::thread> threads;
  for (size_t n = 0; n < 4; ++n)
    threads.emplace_back([&, n] {
      for (int after = 0; after < 2; after += is_cut)
        for (size_t page = n; page < 64; ++page) {
          const bool was_there = at(*map, page * kPage) == 'x';
          const bool intact = map->is_intact(page * kPage, 1);
          wrong += intact && !was_there;
          torn += !intact;
          if (page % 16 == 0) (void)this->map();  // guards come and go at the same time
        }
    });
  cut(20 * kPage);
  is_cut = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(torn, 0);
}

TEST_F(FileMaps, AreNotMadeWhereSomebodyElseHandlesTheSignal) {
  std::signal(SIGBUS, somebody);
  EXPECT_FALSE(map());
  EXPECT_EQ(std::signal(SIGBUS, SIG_IGN), somebody);
  EXPECT_FALSE(map());
  std::signal(SIGBUS, SIG_DFL);
  const auto first = map();
  ASSERT_TRUE(first);
  std::signal(SIGBUS, somebody);  // after our handler
  EXPECT_FALSE(map());
  EXPECT_EQ(std::signal(SIGBUS, SIG_DFL), somebody);
}

TEST_F(FileMaps, AreAsManyAsCanBeGuarded) {
  std::vector<std::shared_ptr<const FileMap>> all;
  while (auto map = this->map()) {
    all.push_back(std::move(map));
    ASSERT_LE(all.size(), 4096u);
  }
  EXPECT_GE(all.size(), 512u);
  all.pop_back();
  EXPECT_TRUE(map());
}

TEST_F(FileMaps, SurviveInAChild) {
  const auto map = this->map();
  ASSERT_TRUE(map);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::truncate(path().c_str(), 0) != 0) ::_exit(1);
    ::_exit(at(*map, 9 * kPage) == '\0' && !map->is_intact(9 * kPage, 1) ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_FALSE(map->is_intact(9 * kPage, 1));
}

using FileMapsDeathTest = FileMaps;

TEST_F(FileMapsDeathTest, WhatIsNotTheirsEndsTheProcessAsBefore) {
  const auto map = this->map();
  ASSERT_TRUE(map);
  folder_.write("y", std::string(2 * kPage, 'y'));
  const std::string other = folder_.path() + "/y";
  EXPECT_EXIT(
      {
        const int file = ::open(other.c_str(), O_RDONLY);
        const void* data = ::mmap(nullptr, 2 * kPage, PROT_READ, MAP_SHARED, file, 0);
        (void)::truncate(other.c_str(), 0);
        (void)*static_cast<const volatile char*>(data);
        ::_exit(0);
      },
      ::testing::KilledBySignal(SIGBUS), "");
  EXPECT_EXIT((::raise(SIGBUS), ::_exit(0)), ::testing::KilledBySignal(SIGBUS), "");
}

TEST(FileStore, SaysWhatIsCached) {
  TemporaryFolder folder;
  folder.write("x", std::string(100, 'x'));
  auto file = file_store()->open(folder.path() + "/x");
  ASSERT_TRUE(file.ok());
  EXPECT_TRUE((*file)->is_cached(50));
  EXPECT_FALSE((*file)->is_cached(100));
}

}  // namespace
}  // namespace headrace
