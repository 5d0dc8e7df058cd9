#include "headrace/formats/index/point_index.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "headrace/core/stop_flag.h"
#include "headrace/formats/index/sidecar.h"
#include "headrace/io/testing/temporary_folder.h"

namespace headrace {
namespace {

constexpr size_t kMemory = 1 << 20;

// An empty cache folder of the user during the lifetime of this object.
class PointIndexTest : public ::testing::Test {
 protected:
  PointIndexTest() { ::setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1); }
  ~PointIndexTest() override { ::unsetenv("XDG_CACHE_HOME"); }

  const TemporaryFolder folder_;
};

// The layout of an entry in the section "files" (point_index.cc).
struct Entry {
  uint64_t key[2], first;
  uint32_t count, step;
  uint64_t checksum;
};
const std::string kKey = "entropy points data\n";

std::vector<std::byte> file_of(int number) {
  const std::string text = "file " + std::to_string(number);
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

EntropyPoints points_of(int number, size_t count, int64_t step = 0) {
  EntropyPoints out{step, {}};
  for (size_t i = 0; i < count; ++i)
    out.points.push_back({static_cast<uint32_t>(100 * static_cast<size_t>(number) + i), 3, {1, -2, 3}});
  return out;
}

PointIndex index_of(const std::string& source = "data") {
  return PointIndex({{source}}, {.step = 0, .memory = kMemory});
}

EntropyPoints found_in(PointIndex& index, int number) { return index.find(file_of(number)).points; }

void keep(PointIndex& index, int number, EntropyPoints points) {
  index.keep(index.find(file_of(number)).key, std::move(points));
}

void keep_and_save(int from, int to, size_t points) {
  PointIndex index = index_of();
  for (int i = from; i < to; ++i) keep(index, i, points_of(i, points));
  EXPECT_TRUE(index.save().ok());
}

// How many points of each file a newly opened index has.
std::vector<size_t> known(int files) {
  PointIndex index = index_of();
  std::vector<size_t> out;
  for (int i = 0; i < files; ++i) out.push_back(found_in(index, i).points.size());
  return out;
}

TEST_F(PointIndexTest, MayLieBesideTheData) {
  keep_and_save(0, 1, 5);
  const std::vector<PointIndex::Data> data{{"data", folder_ / "shared"}};
  std::filesystem::create_directory(folder_ / "shared");
  PointIndex made(data, {.step = 0, .memory = kMemory, .beside = true});
  EXPECT_TRUE(found_in(made, 0).points.empty());  // the cache is of no use to other readers of the data
  keep(made, 0, points_of(0, 7)), keep(made, 1, points_of(1, 3));
  ASSERT_TRUE(made.save().ok());
  EXPECT_TRUE(made.path().starts_with(folder_ / "shared/.headrace/points-"));
  ::setenv("XDG_CACHE_HOME", (folder_ / "another").c_str(), 1);
  PointIndex read(data, {.step = 0, .memory = kMemory});
  EXPECT_EQ(found_in(read, 0).points.size(), 7u);
  EXPECT_EQ(found_in(read, 1).points.size(), 3u);
  keep(read, 2, points_of(2, 4));
  ASSERT_TRUE(read.save().ok());
  EXPECT_TRUE(read.path().starts_with(folder_ / "another"));
  EXPECT_TRUE(found_in(made, 2).points.empty());
}

TEST_F(PointIndexTest, GivesBackWhatIsKeptBeforeAndAfterItIsSaved) {
  PointIndex index = index_of();
  EXPECT_TRUE(found_in(index, 1).points.empty());
  keep(index, 1, points_of(1, 5, 8));
  keep(index, 2, points_of(2, 3));
  for (const char* when : {"held", "saved"}) {
    EXPECT_EQ(found_in(index, 1).points, points_of(1, 5).points) << when;
    EXPECT_EQ(found_in(index, 1).step, 8) << when;
    EXPECT_EQ(found_in(index, 2).points, points_of(2, 3).points) << when;
    EXPECT_TRUE(found_in(index, 3).points.empty()) << when;
    ASSERT_TRUE(index.save().ok());
  }
  EXPECT_EQ(index.found(), 0u);
  EXPECT_EQ(index.files(), 2u);
  PointIndex again = index_of();
  EXPECT_EQ(found_in(again, 1).points, points_of(1, 5).points);
  EXPECT_EQ(found_in(again, 1).step, 8);
  PointIndex other = index_of("other data");
  EXPECT_TRUE(found_in(other, 1).points.empty());
}

TEST_F(PointIndexTest, MorePointsStay) {
  keep_and_save(0, 3, 5);
  PointIndex index = index_of();
  keep(index, 0, points_of(7, 4));
  keep(index, 1, points_of(7, 6));
  keep(index, 1, points_of(7, 2));
  ASSERT_TRUE(index.save().ok());
  EXPECT_EQ(known(3), (std::vector<size_t>{5, 6, 5}));
}

TEST_F(PointIndexTest, MadeAheadItReplacesOtherSteps) {
  keep_and_save(0, 2, 50);
  PointIndex index({{"data"}}, {.prefer = PointIndex::Prefer::found});
  EXPECT_FALSE(index.wanted_step());
  keep(index, 0, points_of(0, 5, 8));
  ASSERT_TRUE(index.save().ok());
  EXPECT_EQ(known(2), (std::vector<size_t>{5, 50}));
}

TEST_F(PointIndexTest, WantsNoMoreThanItsMemoryHolds) {
  PointIndex index = index_of();
  int files = 0;
  for (; index.wanted_step() && files < 100'000; ++files) keep(index, files, points_of(files, 100));
  EXPECT_LE(index.found_bytes(), kMemory + 2000);
  EXPECT_GT(files, 500);
  ASSERT_TRUE(index.save().ok());
  EXPECT_EQ(index.found_bytes(), 0u);
  EXPECT_EQ(index.wanted_step(), 0);
}

TEST_F(PointIndexTest, GrowsNoMoreWhereFilesAreNeverTheSame) {
  PointIndex index({{"data"}}, {.step = 0, .memory = kMemory, .most_files = 3});
  for (int i = 0; i < 3; ++i) keep(index, i, points_of(i, 1));
  EXPECT_TRUE(index.wanted_step());
  ASSERT_TRUE(index.save().ok());
  EXPECT_FALSE(index.wanted_step());
  EXPECT_FALSE(PointIndex({{"data"}}, {.step = 0, .memory = kMemory, .most_files = 3}).wanted_step());
}

TEST_F(PointIndexTest, NoneOfSeveralThatSaveLosesWhatOthersDid) {
  PointIndex first = index_of(), second = index_of();
  keep(first, 0, points_of(0, 1)), keep(second, 1, points_of(1, 2));
  ASSERT_TRUE(first.save().ok() && second.save().ok());
  EXPECT_EQ(known(2), (std::vector<size_t>{1, 2}));
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) threads.emplace_back([t] { keep_and_save(10 * t, 10 * t + 10, 3); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(known(80), std::vector<size_t>(80, 3));
}

TEST_F(PointIndexTest, AnIndexOfOneSourceServesPlansOfSeveral) {
  keep_and_save(0, 2, 4);
  PointIndex both(std::vector<PointIndex::Data>{{"data"}, {"more data"}}, {.step = 0, .memory = kMemory});
  EXPECT_EQ(found_in(both, 1).points, points_of(1, 4).points);
  EXPECT_TRUE(found_in(both, 2).points.empty());
}

TEST_F(PointIndexTest, IsReadWhileItIsSaved) {
  PointIndex index = index_of();
  for (int i = 0; i < 200; ++i) keep(index, i, points_of(i, 50));
  std::atomic<bool> done = false;
  std::thread reader([&] {
    for (int i = 0; !done; i = (i + 1) % 200)
      EXPECT_EQ(found_in(index, i).points.front(), points_of(i, 1).points.front());
  });
  for (int round = 0; round < 10; ++round) {
    keep(index, round, points_of(round, 60 + static_cast<size_t>(round)));
    EXPECT_TRUE(index.save().ok());
  }
  done = true;
  reader.join();
  EXPECT_EQ(index.files(), 200u);
}

TEST_F(PointIndexTest, KeepsWhatItFoundWhenSavingFails) {
  PointIndex index = index_of();
  keep(index, 0, points_of(0, 5));
  StopFlag stop;
  stop.raise();
  EXPECT_EQ(index.save(&stop).code(), Code::cancelled);
  std::filesystem::remove_all(folder_ / "headrace");
  folder_.write("headrace", "a file, where the folder should be");
  EXPECT_EQ(index.save().code(), Code::io);
  EXPECT_EQ(index.found(), 1u);
  EXPECT_EQ(found_in(index, 0).points.size(), 5u);
  std::filesystem::remove(folder_ / "headrace");
  EXPECT_TRUE(index.save().ok());
  EXPECT_EQ(known(1), (std::vector<size_t>{5}));
}

// A sidecar of two files with five points each, with its entries changed.
template <class F> void store_changed(F&& change) {
  keep_and_save(0, 2, 5);
  const auto there = load_sidecar(kKey);
  ASSERT_TRUE(there);
  const auto files = *there->find("files");
  std::vector<Entry> entries(files.size() / sizeof(Entry));
  std::memcpy(entries.data(), files.data(), files.size());
  change(entries);
  ASSERT_TRUE(
      store_sidecar(
          kKey,
          {"", {{"points", *there->find("points")}, {"files", std::as_bytes(std::span(entries))}}, nullptr})
          .ok());
}

TEST_F(PointIndexTest, HostileEntriesAreNotKnownAndGoWhenItIsSaved) {
  const std::vector<std::pair<const char*, void (*)(Entry&)>> changes = {
      {"first beyond the end", [](Entry& e) { e.first = 10; }},
      {"first that overflows", [](Entry& e) { e.first = ~uint64_t{0} / 12; }},
      {"last beyond the end", [](Entry& e) { e.count = 11; }},
      {"huge count", [](Entry& e) { e.count = ~uint32_t{0}; }},
      {"large count", [](Entry& e) { e.count = 1 << 22; }},
      {"no points", [](Entry& e) { e.count = 0; }},
      {"fewer points", [](Entry& e) { e.count = 4; }},
      {"wrong checksum", [](Entry& e) { ++e.checksum; }},
  };
  for (const auto& [what, change] : changes) {
    store_changed([change = change](std::vector<Entry>& entries) {
      for (Entry& entry : entries) change(entry);
    });
    EXPECT_EQ(known(2), (std::vector<size_t>{0, 0})) << what;
    keep_and_save(1, 3, 2);
    EXPECT_EQ(known(3), (std::vector<size_t>{0, 2, 2})) << what;
    EXPECT_EQ(index_of().files(), 2u) << what;
    std::filesystem::remove(SidecarPlace(kKey).path());
  }
}

TEST_F(PointIndexTest, ATableOutOfOrderIsNone) {
  store_changed([](std::vector<Entry>& entries) { std::swap(entries[0], entries[1]); });
  EXPECT_EQ(index_of().files(), 0u);
  store_changed([](std::vector<Entry>& entries) { entries[1] = entries[0]; });
  EXPECT_EQ(index_of().files(), 0u);
  keep_and_save(0, 2, 5);
  EXPECT_EQ(known(2), (std::vector<size_t>{5, 5}));
}

TEST_F(PointIndexTest, DamagedPointsAreNotKnown) {
  keep_and_save(0, 1, 5);
  std::fstream file(SidecarPlace(kKey).path(), std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(192 + 7);  // within the first section
  file.put('\x55');
  file.close();
  EXPECT_EQ(index_of().files(), 1u);
  EXPECT_EQ(known(1), (std::vector<size_t>{0}));
}

}  // namespace
}  // namespace headrace
