#include "headrace/formats/index/record_indexes.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <set>
#include <thread>

#include "headrace/core/text/text.h"
#include "headrace/formats/index/list_memory.h"
#include "headrace/formats/index/sidecar.h"
#include "headrace/formats/index/unchanged.h"
#include "headrace/io/testing/cache_in.h"
#include "headrace/io/testing/temporary_folder.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;

// A format whose records are single bytes.
class Bytes final : public Opening<FileIndex> {
 public:
  explicit Bytes(uint64_t size) : size_(size) {}
  Result<Step<FileIndex>> advance(std::span<const BufferPtr> bytes) override {
    if (bytes.empty()) return Step<FileIndex>(std::vector<Extent>{{0, 0, kToEnd}});
    if (bytes[0]->size() > 0 && bytes[0]->data()[0] == std::byte{'!'})
      return corrupt("expected no ! at byte 0");
    FileIndex out;
    for (uint64_t i = 0; i < size_; ++i) out.records.push_back({i, 1});
    out.extra = "extra";
    return Step<FileIndex>(std::move(out));
  }

 private:
  uint64_t size_;
};

class IndexesOfRecords : public ::testing::Test {
 protected:
  IndexesOfRecords() {
    for (int i = 0; i < 4; ++i) write(i, std::string(100'000, static_cast<char>('a' + i)));
  }

  std::string path(int i) const { return folder_ / name(i); }
  static std::string name(int i) { return "file" + std::to_string(i); }
  void write(int i, const std::string& bytes) { folder_.write(name(i), bytes); }

  RecordOpening opening() {
    RecordOpening out;
    out.kind = "bytes 1";
    for (int i = 0; i < 4; ++i) {
      out.files.push_back(source_file(path(i), *file_store()->info(path(i))));
    }
    out.index = [this, files = out.files](uint64_t file) {
      ++walked_;
      return std::make_unique<Bytes>(files[file].size);
    };
    return out;
  }

  Result<std::vector<FileIndex>> run(const IndexingOptions& options = {}) {
    auto made = record_indexes(opening(), *file_store(), options);
    if (!made.ok()) return made.status();
    EXPECT_TRUE(made->refused.empty());
    return std::move(made->of_files);
  }

  size_t num_kept() const {
    size_t out = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "cache/headrace"))
      out += entry.path().extension() == ".hri" ? 1 : 0;
    return out;
  }

  TemporaryFolder folder_;
  CacheIn cache_{folder_ / "cache"};
  std::atomic<int> walked_{0};
};

TEST_F(IndexesOfRecords, AreWalkedOnceAndThenRemembered) {
  const auto first = run(), second = run();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(walked_, 4);
  EXPECT_EQ(*first, *second);
  EXPECT_EQ((*first)[3].records.size(), 100'000u);
  EXPECT_EQ((*second)[3].extra, "extra");
}

TEST_F(IndexesOfRecords, AreMadeAgainOfAFileThatChanged) {
  ASSERT_TRUE(run().ok());
  write(1, std::string(50'000, 'x'));  // another size
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(walked_, 5);
  const auto time = std::filesystem::last_write_time(path(2));
  write(2, "x" + std::string(99'999, 'c'));  // size and time as before, bytes not
  std::filesystem::last_write_time(path(2), time);
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(walked_, 6);
  std::filesystem::last_write_time(path(3), time + std::chrono::hours(1));  // only touched
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(walked_, 7);
}

TEST_F(IndexesOfRecords, AreInOneFile) {
  std::set<std::string> kept;
  ASSERT_TRUE(run({.kept = [&](const std::string& path) { kept.insert(path); }}).ok());
  EXPECT_EQ(num_kept(), 1u);
  EXPECT_EQ(kept.size(), 1u);
  EXPECT_TRUE(std::filesystem::exists(*kept.begin()));
}

TEST_F(IndexesOfRecords, OfSingleFilesAreStillRead) {
  const auto first = run();
  ASSERT_TRUE(first.ok());
  std::filesystem::remove_all(folder_ / "cache");
  // As the version before wrote it, for one of the files.
  const auto file = file_store()->open(path(1));
  ASSERT_TRUE(file.ok());
  const FileInfo info = *(*file)->as_opened();
  const FileStamp stamp{info.size, info.mtime_ns, *sample_of(**file, info.size)};
  const std::string records = pack_records((*first)[1]), damaged = pack_damaged((*first)[1]);
  Sidecar old;
  old.sections = {{"file", std::as_bytes(std::span(&stamp, 1))},
                  {"records", text_bytes(records)},
                  {"damaged", text_bytes(damaged)},
                  {"extra", text_bytes((*first)[1].extra)}};
  ASSERT_TRUE(store_sidecar("records bytes 1 " + std::filesystem::canonical(path(1)).string(), old).ok());
  walked_ = 0;
  const auto second = run();
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(walked_, 3);
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(walked_, 3);
}

TEST_F(IndexesOfRecords, AFileThatWasOnlyCopiedOrChangedInModeIsNotWalked) {
  ASSERT_TRUE(run().ok());
  std::filesystem::permissions(path(2), std::filesystem::perms::owner_read);
  const auto time = std::filesystem::last_write_time(path(1));
  std::filesystem::copy_file(path(1), folder_ / "copy");
  std::filesystem::rename(folder_ / "copy", path(1));
  std::filesystem::last_write_time(path(1), time);
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(walked_, 4);
}

TEST_F(IndexesOfRecords, ADamagedFileIsLookedAtByEveryRunAndTheOthersOnce) {
  write(1, "!broken");
  for (int i = 1; i <= 3; ++i) {
    const auto made = record_indexes(opening(), *file_store(), {});
    ASSERT_TRUE(made.ok());
    EXPECT_EQ(walked_, 3 + i);
  }
}

TEST_F(IndexesOfRecords, ThoseOfAnotherListInTheFolderStay) {
  const RecordOpening all = opening();
  const auto part = [&](size_t begin, size_t end) {
    RecordOpening out;
    out.kind = all.kind;
    out.files.assign(all.files.begin() + static_cast<ptrdiff_t>(begin),
                     all.files.begin() + static_cast<ptrdiff_t>(end));
    out.index = [&, begin](uint64_t file) { return all.index(begin + file); };
    return out;
  };
  ASSERT_TRUE(record_indexes(part(0, 2), *file_store(), {}).ok());
  ASSERT_TRUE(record_indexes(part(2, 4), *file_store(), {}).ok());
  ASSERT_TRUE(record_indexes(all, *file_store(), {}).ok());
  EXPECT_EQ(walked_, 4);
  EXPECT_EQ(num_kept(), 1u);
}

TEST_F(IndexesOfRecords, AHolderThatDiedKeepsNobodyWaiting) {
  const std::string folder = folder_ / "cache/headrace";
  ASSERT_TRUE(run().ok());
  std::string lock;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".lock") lock = entry.path();
  ASSERT_FALSE(lock.empty());
  std::filesystem::remove(lock.substr(0, lock.size() - 5));
  const pid_t child = ::fork();
  if (child == 0) {
    const int descriptor = ::open(lock.c_str(), O_RDWR);
    ::_exit(::flock(descriptor, LOCK_EX) == 0 ? 0 : 1);  // without an unlock
  }
  int status = 1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(walked_, 8);
}

TEST_F(IndexesOfRecords, ADamagedSidecarIsAbsent) {
  const auto first = run();
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "cache/headrace"))
    std::filesystem::resize_file(entry.path(), std::filesystem::file_size(entry.path()) / 2);
  const auto second = run();
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(walked_, 8);
  EXPECT_EQ(*first, *second);
}

TEST_F(IndexesOfRecords, LieBesideTheDataOnRequest) {
  const auto cached = run();  // an index in the cache is copied there
  const auto first = run({.beside = true});
  ASSERT_TRUE(std::filesystem::exists(folder_ / ".headrace/list.hri"));
  std::filesystem::remove_all(folder_ / "cache");
  const auto second = run();
  ASSERT_TRUE(cached.ok() && first.ok() && second.ok());
  EXPECT_EQ(*first, *cached);
  EXPECT_EQ(*second, *cached);
  EXPECT_EQ(walked_, 4);
  write(2, std::string(60'000, 'x'));  // its stored index is stale
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(walked_, 5);
}

TEST_F(IndexesOfRecords, AreMadeAnewOnRequest) {
  ASSERT_TRUE(run().ok());
  EXPECT_EQ(walked_, 4);
  auto made = record_indexes(opening(), *file_store(), {});
  ASSERT_TRUE(made.ok());
  EXPECT_TRUE(made->recalled);
  EXPECT_EQ(walked_, 4);
  made = record_indexes(opening(), *file_store(), {.anew = true});
  ASSERT_TRUE(made.ok());
  EXPECT_FALSE(made->recalled);
  EXPECT_EQ(walked_, 8);
}

TEST_F(IndexesOfRecords, SayWhyTheyCannotLieBesideTheData) {
  folder_.write(".headrace", "a file, where the folder should be");
  const auto failed = run({.beside = true});
  EXPECT_NE(failed.status().text().find("cannot create"), std::string::npos) << failed.status().text();
  EXPECT_TRUE(run().ok());
}

TEST_F(IndexesOfRecords, ManyAtOnceGetTheSame) {
  const auto expected = run();
  std::filesystem::remove_all(folder_ / "cache");
  std::vector<std::jthread> threads;
  std::atomic<int> same{0};
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      const auto got = run();
      if (got.ok() && *got == *expected) ++same;
    });
  threads.clear();
  EXPECT_EQ(same, 8);
}

TEST_F(IndexesOfRecords, BrokenFilesAreRefusedAndTheOthersAreNot) {
  const auto whole = run();
  write(1, "!broken"), write(3, "!broken");
  for (int i = 0; i < 20; ++i) {
    const auto made = record_indexes(opening(), *file_store(), {});
    ASSERT_TRUE(made.ok());
    ASSERT_EQ(made->refused.size(), 2u);
    EXPECT_EQ(made->refused[0].file, 1u);
    EXPECT_EQ(made->refused[1].file, 3u);
    EXPECT_EQ(made->refused[0].reason, "expected no ! at byte 0");
    EXPECT_EQ(made->of_files[2], (*whole)[2]);
    EXPECT_TRUE(made->of_files[1].records.empty());
  }
}

TEST_F(IndexesOfRecords, WhereAllFilesAreBrokenTheFirstIsNamed) {
  for (int i = 0; i < 4; ++i) write(i, "!broken");
  for (int i = 0; i < 20; ++i) ASSERT_EQ(run().status().text(), "'" + path(0) + "': expected no ! at byte 0");
}

TEST_F(IndexesOfRecords, WhereFilesCannotBeOpenedTheFirstIsNamed) {
  write(0, "!broken");
  const RecordOpening records = opening();
  for (const int i : {1, 3}) std::filesystem::remove(path(i));
  for (int i = 0; i < 20; ++i) {
    const auto failed = record_indexes(records, *file_store(), {});
    ASSERT_EQ(failed.status().code(), Code::not_found);
    ASSERT_TRUE(failed.status().text().starts_with("'" + path(1) + "': ")) << failed.status().text();
  }
}

TEST_F(IndexesOfRecords, TheWatchEndsIt) {
  RecordOpening endless = opening();
  class Endless final : public Opening<FileIndex> {
    Result<Step<FileIndex>> advance(std::span<const BufferPtr>) override {
      return Step<FileIndex>(std::vector<Extent>{{0, 0, 1}});
    }
  };
  endless.index = [](uint64_t) { return std::make_unique<Endless>(); };
  int looks = 0;
  const auto stopped =
      record_indexes(endless, *file_store(), {.workers = 2, .watch = [&](uint64_t done, uint64_t all) {
                                                EXPECT_EQ(done, 0u);
                                                EXPECT_EQ(all, 400'000u);
                                                return ++looks < 2;
                                              }});
  EXPECT_EQ(stopped.status().code(), Code::cancelled);
  EXPECT_EQ(looks, 2);
}

TEST(FileIndex, ReadsBackAsItWasWritten) {
  FileIndex close{{{100, 16}, {116, 20}, {136, 0}, {136, 1u << 31}}, ""};
  FileIndex apart{{{0, 512}, {1024, 100}, {uint64_t{1} << 40, uint64_t{1} << 36}}, ""};
  for (const FileIndex& index : {close, apart, FileIndex{}}) {
    const std::string bytes = pack_records(index);
    const auto span = std::as_bytes(std::span(bytes));
    EXPECT_EQ(unpack_records(span), index.records);
    EXPECT_FALSE(unpack_records(span.first(span.size() - 1)));
  }
  EXPECT_EQ(pack_records(close).size(), 24 + 4 * 4u);
  const FileIndex damaged{{{0, 5}}, "", {{0, 0, "no header"}, {1, 99, ""}}};
  const std::string bytes = pack_damaged(damaged);
  const auto span = std::as_bytes(std::span(bytes));
  EXPECT_EQ(unpack_damaged(span), damaged.damaged);
  EXPECT_FALSE(unpack_damaged(span.first(span.size() - 1)));
  EXPECT_TRUE(is_in_order(apart, (uint64_t{1} << 40) + (uint64_t{1} << 36)));
  EXPECT_FALSE(is_in_order(apart, uint64_t{1} << 40));
  EXPECT_FALSE(is_in_order({{{10, 5}, {12, 5}}, ""}, 100));
}

}  // namespace
}  // namespace headrace
