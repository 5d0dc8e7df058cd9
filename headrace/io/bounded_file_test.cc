#include "headrace/io/bounded_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "headrace/io/file_map.h"
#include "headrace/io/store.h"
#include "headrace/io/testing/temporary_folder.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

// As few descriptors as are open now, and some.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t more) {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const int next = ::dup(0);
    ::close(next);
    const rlimit now{static_cast<rlim_t>(next) + more, before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &now);
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

std::string first_bytes(OpenFile& file, size_t count = 4) {
  std::string out(count, 0);
  const Status status = read_exactly(file, 0, std::as_writable_bytes(std::span(out)));
  return status.ok() ? out : std::string(status.text());
}

std::vector<std::unique_ptr<OpenFile>> opened(TemporaryFolder& folder, int count) {
  std::vector<std::unique_ptr<OpenFile>> out;
  for (int i = 0; i < count; ++i) {
    const std::string name = std::to_string(1000 + i);
    folder.write(name, name);
    auto file = file_store()->open(folder.path() + "/" + name);
    EXPECT_TRUE(file.ok()) << file.status().text();
    if (file.ok()) out.push_back(*std::move(file));
  }
  return out;
}

TEST(BoundedFile, FilesBeyondTheLimitAreClosedAndOpenedAgain) {
  TemporaryFolder folder;
  const FewDescriptors few(16);
  const auto files = opened(folder, 200);
  ASSERT_EQ(files.size(), 200u);
  EXPECT_LE(BoundedFile::num_open(), BoundedFile::most_open());
  for (int round = 0; round < 3; ++round)
    for (size_t i = 0; i < files.size(); ++i) EXPECT_EQ(first_bytes(*files[i]), std::to_string(1000 + i));
  EXPECT_LE(BoundedFile::num_open(), BoundedFile::most_open());
}

TEST(BoundedFile, ThreadsShareThem) {
  TemporaryFolder folder;
  const FewDescriptors few(16);
  const auto files = opened(folder, 60);
  ASSERT_EQ(files.size(), 60u);
  std::vector<std::jthread> threads;
  for (size_t thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      for (size_t i = 0; i < 3000; ++i) {
        const size_t at = (i * (thread + 7)) % files.size();
        ASSERT_EQ(first_bytes(*files[at]), std::to_string(1000 + at));
      }
    });
}

TEST(BoundedFile, WhatIsMappedStaysOpen) {
  TemporaryFolder folder;
  const FewDescriptors few(24);
  auto files = opened(folder, 1);
  const auto map = files[0]->map();
  if (!map) GTEST_SKIP() << "no maps here";
  const auto others = opened(folder, 100);
  EXPECT_EQ(others.size(), 100u);
  EXPECT_TRUE(map->is_intact(0, 4));
  std::filesystem::resize_file(folder.path() + "/1000", 1);
  EXPECT_FALSE(map->is_intact(0, 4));
}

TEST(BoundedFile, AReplacedFileGoesOnWhileItIsOpenAndIsAnErrorAfterwards) {
  TemporaryFolder folder;
  folder.write("x", "old!");
  const auto file = *file_store()->open(folder.path() + "/x");
  std::filesystem::remove(folder.path() + "/x");
  folder.write("x", "new!");
  EXPECT_EQ(first_bytes(*file), "old!");
  const FewDescriptors few(12);
  const auto others = opened(folder, 50);
  EXPECT_THAT(first_bytes(*file), HasSubstr("it is not the file that was opened before"));
  std::filesystem::remove(folder.path() + "/x");
  EXPECT_THAT(first_bytes(*file), HasSubstr("cannot open again '" + folder.path() + "/x': No such file"));
}

TEST(BoundedFile, RunningOutNamesTheLimit) {
#if defined(__clang__)
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "UndefinedBehaviorSanitizer needs descriptors for its checks";
#endif
#endif
  TemporaryFolder folder;
  folder.write("x", "1234");
  const FewDescriptors none(0);
  const auto file = file_store()->open(folder.path() + "/x");
  ASSERT_FALSE(file.ok());
  EXPECT_THAT(std::string(file.status().text()), HasSubstr("Too many open files: this process may have "));
  EXPECT_THAT(std::string(file.status().text()), HasSubstr("`ulimit -n 4096`"));
  EXPECT_EQ(file.status().error_number(), EMFILE);
}

}  // namespace
}  // namespace headrace
