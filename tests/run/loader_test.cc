// A loader's methods from several threads at once: whoever stops, saves or reports while another consumes.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "headrace/core/stop_flag.h"
#include "headrace/formats/open.h"
#include "headrace/headrace.h"
#include "headrace/io/testing/memory_store.h"
#include "headrace/run/fetch.h"

namespace headrace {
namespace {

std::vector<int64_t> values_of(const Sample& batch) {
  const View view = batch.fields[0].view();
  return {view.as<int64_t>(), view.as<int64_t>() + view.shape.count()};
}

std::unique_ptr<Loader> make(const Dataset& dataset) {
  LoaderOptions options;
  options.workers = 2, options.io = 1, options.memory_budget = size_t{16} << 20;
  auto loader = dataset.loader(std::move(options));
  EXPECT_TRUE(loader.ok()) << loader.status().text();
  return *std::move(loader);
}

// One state is a count (elastic), the other a cursor into the run.
std::vector<Dataset> datasets() {
  const auto small = [](const Fields& s) { return s["value"].apply("less", {{"value", 3000}}); };
  return {range(4000).shuffle({.seed = 3}).batch(8), range(4000).shuffle({.seed = 3}).filter(small).batch(8)};
}

// Until the end of the epoch, or until somebody stops it.
void drain(Loader& loader, std::vector<int64_t>& seen, std::atomic<int>* batches = nullptr) {
  Sample sample;
  while (true) {
    const auto more = loader.next(sample);
    if (!more.ok()) {
      EXPECT_EQ(more.status().code(), Code::cancelled) << more.status().text();
    }
    if (!more.ok() || !*more) return;
    for (int64_t value : values_of(sample)) seen.push_back(value);
    if (batches) ++*batches;
  }
}

TEST(Loader, StoppedByAnotherThreadItsStateIsWhatTheConsumerGot) {
  for (const Dataset& dataset : datasets()) {
    std::vector<int64_t> expected;
    drain(*make(dataset), expected);
    for (int round = 0; round < 30; ++round) {
      const auto first = make(dataset);
      std::vector<int64_t> seen;
      ASSERT_TRUE(first->begin().ok());
      std::atomic<int> batches{0};
      std::thread consumer([&] { drain(*first, seen, &batches); });
      while (batches < 12 * round) std::this_thread::yield();
      first->stop();
      const auto state = first->save();
      consumer.join();
      ASSERT_TRUE(state.ok());
      ASSERT_EQ(first->save()->dump(), state->dump()) << "the consumer got an element after stop() returned";
      if (seen.size() < expected.size()) {
        const auto second = make(dataset);
        ASSERT_TRUE(second->load(*state).ok());
        drain(*second, seen);
      }
      ASSERT_TRUE(seen == expected) << "round " << round << ", state " << state->dump();
    }
  }
}

TEST(Loader, ReportsAndStatesWhileAnotherThreadConsumes) {
  for (const Dataset& dataset : datasets()) {
    const auto loader = make(dataset);
    std::atomic<bool> done{false};
    std::thread watcher([&] {
      while (!done) {
        EXPECT_NE(loader->report().find("elements"), nullptr);
        EXPECT_TRUE(loader->save().ok());
        EXPECT_LE(loader->epoch(), 3u);
        EXPECT_FALSE(loader->explain().empty());
      }
    });
    for (int epoch = 0; epoch < 3; ++epoch) {
      std::vector<int64_t> seen;
      ASSERT_TRUE(loader->begin().ok());
      drain(*loader, seen);
      EXPECT_GE(seen.size(), 3000u);
    }
    done = true;
    watcher.join();
  }
}

TEST(Loader, ManyThreadsMayStopAtOnce) {
  for (int round = 0; round < 10; ++round) {
    const auto loader = make(datasets()[0]);
    ASSERT_TRUE(loader->begin().ok());
    std::vector<int64_t> seen;
    std::vector<std::thread> threads;
    threads.emplace_back([&] { drain(*loader, seen); });
    for (int i = 0; i < 3; ++i) threads.emplace_back([&] { loader->stop(); });
    for (std::thread& thread : threads) thread.join();
    Sample sample;
    const auto more = loader->next(sample);
    ASSERT_TRUE(more.ok()) << more.status().text();
    EXPECT_FALSE(*more) << "stopped: the next begin() begins again";
  }
}

TEST(Loader, AReadEndsWhenTheRunIsStopped) {
  auto store = std::make_shared<MemoryStore>();
  store->add("data/a/1.jpg", std::string(size_t{20} << 20, 'x'));
  const auto source = open_source(*store, "data");
  ASSERT_TRUE(source.ok()) << source.status().text();
  const auto stop = std::make_shared<StopFlag>();
  Fetcher fetcher(store, Pool::make(size_t{64} << 20), stop);
  Counters counters(0);
  EXPECT_TRUE(fetcher.block(**source, 0, counters).ok());
  stop->raise();
  EXPECT_EQ(fetcher.block(**source, 0, counters).status().code(), Code::cancelled);
}

}  // namespace
}  // namespace headrace
