// Reads wait in parallel: as many as there are readers. The store lets a read continue only when that many
// are in flight at once; if they do not arrive, it gives up and the test fails.
#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "headrace/formats/opening/open.h"
#include "headrace/formats/tfrecord/testing.h"
#include "headrace/headrace.h"
#include "headrace/io/testing/faulty_store.h"
#include "headrace/io/testing/memory_store.h"

namespace headrace {
namespace {

constexpr size_t kOverlapFiles = 64, kOverlapRecords = 40;

class Meeting {
 public:
  // The first `free` reads do not wait.
  Meeting(size_t wanted, std::chrono::milliseconds patience, size_t free)
      : wanted_(wanted), patience_(patience), free_(free) {}

  void wait() {
    std::unique_lock lock(mutex_);
    if (free_ > 0) return void(--free_);
    most_ = std::max(most_, ++there_);
    if (most_ >= wanted_) all_there_.notify_all();
    all_there_.wait_for(lock, patience_, [&] { return most_ >= wanted_; });
    --there_;
  }
  size_t most() {
    std::lock_guard lock(mutex_);
    return most_;
  }

 private:
  const size_t wanted_;
  const std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable all_there_;
  size_t free_;
  size_t there_ = 0, most_ = 0;
};

std::vector<std::string> records_of(size_t file) {
  std::vector<std::string> out;
  for (size_t r = 0; r < kOverlapRecords; ++r)
    out.push_back(std::to_string(file) + "/" + std::to_string(r) + std::string(100, 'x'));
  return out;
}

std::shared_ptr<MemoryStore> overlap_files() {
  auto store = std::make_shared<MemoryStore>();
  for (size_t i = 0; i < kOverlapFiles; ++i)
    store->add("records-" + std::to_string(i), framed(records_of(i)));
  return store;
}

Dataset interleaved(Store& store) {
  std::vector<Dataset> datasets;
  for (size_t i = 0; i < kOverlapFiles; ++i)
    datasets.push_back(from_source(*open_source(store, "records-" + std::to_string(i))));
  return interleave(datasets, {.cycle_length = kOverlapFiles});
}

// The records in order, and the number of reads in flight at once.
std::pair<std::vector<std::string>, size_t> run_overlapped(const std::function<Dataset(Dataset)>& verbs,
                                                           std::chrono::milliseconds patience,
                                                           size_t free = 0) {
  const auto store = overlap_files();
  Meeting meeting(kOverlapFiles, patience, free);
  const auto waiting = std::make_shared<FaultyStore>(
      store, Faults{.delay = [&](const std::string&, uint64_t) { meeting.wait(); }});
  const Dataset dataset = verbs(interleaved(*store));
  LoaderOptions options;
  options.workers = 2, options.io = kOverlapFiles;
  auto loader = Loader::make(*dataset.node(), options, waiting);
  EXPECT_TRUE(loader.ok()) << loader.status().text();
  std::vector<std::string> out;
  Sample sample;
  const auto add = [&](View view) {
    out.emplace_back(reinterpret_cast<const char*>(view.data), view.size_bytes());
  };
  while (*(*loader)->next(sample)) {
    const Tensor& field = sample.fields[0];
    if (!field.rows) add(field.view());
    for (size_t r = 0; field.rows && r < field.rows->size(); ++r) add((*field.rows)[r].view());
  }
  return {std::move(out), meeting.most()};
}

std::vector<std::string> in_turns() {
  std::vector<std::string> out;
  for (size_t r = 0; r < kOverlapRecords; ++r)
    for (size_t i = 0; i < kOverlapFiles; ++i) out.push_back(records_of(i)[r]);
  return out;
}

constexpr auto kLong = std::chrono::seconds(10);

TEST(Overlap, TheFilesOfAnInterleaveAreReadAllAtOnce) {
  const auto [elements, most] = run_overlapped([](Dataset d) { return d; }, kLong);
  EXPECT_EQ(elements, in_turns());
  EXPECT_EQ(most, kOverlapFiles);
}

TEST(Overlap, SoAreTheRowsOfItsBatches) {
  const auto [elements, most] = run_overlapped([](Dataset d) { return d.batch(32); }, kLong);
  EXPECT_EQ(elements, in_turns());
  EXPECT_EQ(most, kOverlapFiles);
}

TEST(Overlap, SoAreInputsWithoutRandomAccess) {
  const auto verbs = [](Dataset) {
    const auto store = overlap_files();
    std::vector<Dataset> datasets;
    for (size_t i = 0; i < kOverlapFiles; ++i)
      datasets.push_back(
          from_source(*open_source(*store, "records-" + std::to_string(i)))
              .with_ids()
              .filter([](const Fields& s) { return s["id"].apply("less", {{"value", int64_t{1} << 60}}); }));
    return interleave(datasets, {.cycle_length = kOverlapFiles});
  };
  const auto [elements, most] = run_overlapped(verbs, kLong);
  EXPECT_EQ(elements.size(), kOverlapFiles * kOverlapRecords);
  EXPECT_EQ(most, kOverlapFiles);
}

// Many small records become one part of a batch, and the reads of a part are sequential. When they begin to
// wait, the next parts are small again.
TEST(Overlap, PartsAreCutSmallWhereReadsWait) {
  const auto verbs = [](Dataset d) { return d.repeat(20).batch(256); };
  const auto [elements, most] = run_overlapped(verbs, std::chrono::milliseconds(5), 20'000);
  EXPECT_EQ(elements.size(), 20 * kOverlapFiles * kOverlapRecords);
  EXPECT_EQ(most, kOverlapFiles);
}

}  // namespace
}  // namespace headrace
