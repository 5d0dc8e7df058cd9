#include "headrace/io/file_system.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "headrace/io/testing/temporary_folder.h"

namespace headrace {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Exchange, LeavesBothInPlaceWhenItCannotBeDone) {
  const TemporaryFolder folder;
  folder.write("old/x", "old"), folder.write("new/x", "new");
  // The new one cannot be moved: it does not exist.
  EXPECT_FALSE(exchange_by_hand(folder / "none", folder / "old", folder / "aside").ok());
  EXPECT_EQ(text_of(folder / "old/x"), "old");
  EXPECT_FALSE(exists(folder / "aside"));
  ASSERT_TRUE(exchange_by_hand(folder / "new", folder / "old", folder / "aside").ok());
  EXPECT_EQ(text_of(folder / "old/x"), "new");
  EXPECT_EQ(text_of(folder / "aside/x"), "old");
  // Unrelated data at `aside` is not touched.
  folder.write("new/x", "newer");
  EXPECT_FALSE(exchange_by_hand(folder / "new", folder / "old", folder / "aside").ok());
  EXPECT_EQ(text_of(folder / "aside/x"), "old");
  EXPECT_EQ(text_of(folder / "old/x"), "new");
}

bool is_free(const std::string& path) {
  const auto lock = FileLock::take(path);
  EXPECT_TRUE(lock.ok()) << lock.status().text();
  return *lock != nullptr;
}

TEST(FileLock, IsGivenBackThoughAChildLivesOn) {
  const TemporaryFolder folder;
  const std::string path = folder / "lock";
  auto lock = FileLock::take(path);
  ASSERT_TRUE(lock.ok() && *lock);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    lock->reset();  // a copy: the parent still holds it
    const char done = 0;
    (void)!::write(ends[1], &done, 1);
    ::pause();
    ::_exit(0);
  }
  char done;
  ASSERT_EQ(::read(ends[0], &done, 1), 1);
  EXPECT_FALSE(is_free(path));
  lock->reset();
  EXPECT_TRUE(is_free(path));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ends[0]), ::close(ends[1]);
}

// Holders remove the file, as writers do. A lock on an unlinked file could be held by two.
TEST(FileLock, OneAtATimeHoldsItThoughItsFileIsRemoved) {
  const TemporaryFolder folder;
  const std::string path = folder / "lock";
  std::atomic<int> holders = 0, most = 0;
  const auto take_often = [&] {
    for (int i = 0; i < 3000; ++i) {
      const auto lock = FileLock::take(path);
      if (!lock.ok() || !*lock) continue;
      const int now = ++holders;
      if (now > most) most = now;
      --holders;
      std::filesystem::remove(path);
    }
  };
  {
    const std::jthread one(take_often), two(take_often), three(take_often);
  }
  EXPECT_EQ(most, 1);
}

}  // namespace
}  // namespace headrace
