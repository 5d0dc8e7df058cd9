// A loader's methods from several threads at once: stop, save and report while another thread consumes.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <thread>

#include "headrace/core/stop_flag.h"
#include "headrace/formats/opening/open.h"
#include "headrace/headrace.h"
#include "headrace/io/testing/memory_store.h"
#include "headrace/run/read/fetch.h"

namespace headrace {
namespace {

std::vector<int64_t> values_of(const Sample& batch) {
  const View view = batch.fields[0].view();
  return {view.as<int64_t>(), view.as<int64_t>() + view.shape.count()};
}

constexpr size_t kCrews[] = {0, 2};  // workers

std::unique_ptr<Loader> make_loader(const Dataset& dataset, size_t workers) {
  LoaderOptions options;
  options.workers = workers, options.io = 1, options.memory_budget = size_t{16} << 20;
  auto loader = dataset.loader(std::move(options));
  EXPECT_TRUE(loader.ok()) << loader.status().text();
  return *std::move(loader);
}

// One state is a count (elastic), the other a cursor into the run.
std::vector<Dataset> loader_datasets() {
  const auto small = [](const Fields& s) { return s["value"].apply("less", {{"value", 3000}}); };
  return {range(4000).shuffle({.seed = 3}).batch(8), range(4000).shuffle({.seed = 3}).filter(small).batch(8)};
}

// Consumes until the end of the epoch, or until it is stopped.
void drain_all(Loader& loader, std::vector<int64_t>& seen, std::atomic<int>* batches = nullptr) {
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
  for (const Dataset& dataset : loader_datasets()) {
    std::vector<int64_t> expected;
    drain_all(*make_loader(dataset, 2), expected);
    for (int round = 0; round < 30; ++round) {
      const size_t workers = kCrews[round % 2];
      const auto first = make_loader(dataset, workers);
      std::vector<int64_t> seen;
      ASSERT_TRUE(first->begin().ok());
      std::atomic<int> batches{0};
      std::thread consumer([&] { drain_all(*first, seen, &batches); });
      while (batches < 12 * round) std::this_thread::yield();
      first->stop();
      const auto state = first->save();
      consumer.join();
      ASSERT_TRUE(state.ok());
      ASSERT_EQ(first->save()->dump(), state->dump()) << "the consumer got an element after stop() returned";
      if (seen.size() < expected.size()) {
        const auto second = make_loader(dataset, 2 - workers);
        ASSERT_TRUE(second->load(*state).ok());
        drain_all(*second, seen);
      }
      ASSERT_TRUE(seen == expected) << "round " << round << ", state " << state->dump();
    }
  }
}

TEST(Loader, ReportsAndStatesWhileAnotherThreadConsumes) {
  for (const size_t workers : kCrews)
    for (const Dataset& dataset : loader_datasets()) {
      const auto loader = make_loader(dataset, workers);
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
        drain_all(*loader, seen);
        EXPECT_GE(seen.size(), 3000u);
      }
      done = true;
      watcher.join();
    }
}

TEST(Loader, ManyThreadsMayStopAtOnce) {
  for (int round = 0; round < 10; ++round) {
    const auto loader = make_loader(loader_datasets()[0], kCrews[round % 2]);
    ASSERT_TRUE(loader->begin().ok());
    std::vector<int64_t> seen;
    std::vector<std::thread> threads;
    threads.emplace_back([&] { drain_all(*loader, seen); });
    for (int i = 0; i < 3; ++i) threads.emplace_back([&] { loader->stop(); });
    for (std::thread& thread : threads) thread.join();
    Sample sample;
    const auto more = loader->next(sample);
    if (more.ok())
      EXPECT_FALSE(*more) << "it had ended before";
    else
      EXPECT_NE(more.status().text().find("ended by stop()"), std::string::npos) << more.status().text();
  }
}

// Numbers below 100, with an action when one of them is read.
class Calling final : public Generator {
 public:
  explicit Calling(std::function<void(int64_t)> call) : call_(std::move(call)) {}
  const Schema& schema() const override { return schema_; }
  Result<std::unique_ptr<Pass>> start(uint64_t) const override {
    return std::unique_ptr<Pass>(std::make_unique<Call>(call_));
  }
  Value describe() const override { return Value::Object{{"slot", "calling"}}; }
  std::string fingerprint() const override { return "calling"; }

 private:
  class Call final : public Pass {
   public:
    explicit Call(const std::function<void(int64_t)>& call) : call_(call) {}
    Result<bool> next(std::vector<Tensor>& fields) override {
      if (at_ == 100) return false;
      call_(at_);
      fields.assign(1, scalar(at_++));
      return true;
    }
    Result<std::optional<std::string>> tell() override { return std::optional(std::to_string(at_)); }
    Status seek(const std::string& place) override {
      at_ = std::stoll(place);
      return {};
    }

   private:
    const std::function<void(int64_t)>& call_;
    int64_t at_ = 0;
  };

  Schema schema_{{"value"}, {{DType::i64, {}}}, "0"};
  std::function<void(int64_t)> call_;
};

// Code called by the crew must not wait for the crew.
TEST(Loader, IsStoppedFromWithinWhatItCalls) {
  for (const size_t workers : kCrews) {
    std::unique_ptr<Loader> loader;
    std::function<void()> what;
    const auto calls = std::make_shared<Calling>([&](int64_t at) {
      if (at == 42 && what) what();
    });
    loader = make_loader(from_generator(calls).batch(5), workers);
    const auto run = [&](std::function<void()> within) {
      what = std::move(within);
      EXPECT_TRUE(loader->begin().ok());
      std::vector<int64_t> seen;
      Sample sample;
      Result<bool> more = true;
      while ((more = loader->next(sample)).ok() && *more)
        for (const int64_t value : values_of(sample)) seen.push_back(value);
      what = nullptr;
      EXPECT_EQ(more.ok(), seen.size() == 100) << "an iteration that was stopped has no end";
      if (!more.ok()) {
        EXPECT_EQ(more.status().code(), Code::cancelled);
        EXPECT_NE(more.status().text().find("this iteration was ended by "), std::string::npos);
      }
      return seen;
    };

    const std::vector<int64_t> first = run([&] { loader->stop(), loader->stop(); });
    EXPECT_LE(first.size(), 40u) << "batch 8 is that of 42";
    const Result<Value> state = loader->save();
    ASSERT_TRUE(state.ok());
    ASSERT_TRUE(loader->load(*state).ok());
    std::vector<int64_t> all = first;
    EXPECT_TRUE(loader->begin().ok());
    for (Sample sample; *loader->next(sample);)
      for (const int64_t value : values_of(sample)) all.push_back(value);
    ASSERT_EQ(all.size(), 100u) << "where it was stopped it goes on";
    for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], static_cast<int64_t>(i));

    EXPECT_EQ(run([&] { EXPECT_TRUE(loader->set_epoch(7)); }).size(), 100u) << "it goes on";
    EXPECT_EQ(loader->epoch(), 7u);
    EXPECT_EQ(run({}).size(), 100u);
    EXPECT_LE(run([&] { EXPECT_TRUE(loader->load(*state).ok()); }).size(), 40u);
    size_t rest = 0;
    EXPECT_TRUE(loader->begin().ok());
    for (Sample sample; *loader->next(sample);) rest += values_of(sample).size();
    EXPECT_EQ(rest, 100u - first.size());

    Status began, next;
    Sample sample;
    EXPECT_EQ(run([&] { began = loader->begin(), next = loader->next(sample).status(); }).size(), 100u);
    for (const Status& status : {began, next}) EXPECT_NE(status.text().find("for itself"), std::string::npos);
    EXPECT_EQ(run([&] { (void)loader->report(), (void)loader->save(); }).size(), 100u);
  }
}

// No call beside an iteration makes it end as if it had no more elements.
TEST(Loader, AnIterationGoesOnOrSaysWhatEndedIt) {
  struct Call {
    std::string name;
    std::function<void(Loader&)> make;
    std::string ended_by;  // empty: it goes on
    uint64_t following;
  };
  const std::vector<Call> calls = {
      {"its own epoch", [](Loader& l) { EXPECT_TRUE(l.set_epoch(0)); }, "", 1},
      {"the next epoch", [](Loader& l) { EXPECT_TRUE(l.set_epoch(1)); }, "", 1},
      {"another epoch", [](Loader& l) { EXPECT_TRUE(l.set_epoch(5)); }, "", 5},
      {"two epochs", [](Loader& l) { (void)l.set_epoch(5), (void)l.set_epoch(0); }, "", 1},
      {"a state that does not fit", [](Loader& l) { EXPECT_FALSE(l.load(Value{Value::Object()}).ok()); }, "",
       1},
      {"looks", [](Loader& l) { (void)l.save(), (void)l.report(), (void)l.explain(), (void)l.timeline(); },
       "", 1},
      {"stop", [](Loader& l) { l.stop(); }, "stop()", 1},
  };
  for (const Dataset& dataset : loader_datasets())
    for (const size_t workers : kCrews) {
      std::vector<std::vector<int64_t>> epochs(7);
      for (uint64_t epoch = 0; epoch < epochs.size(); ++epoch) {
        const auto loader = make_loader(dataset, workers);
        EXPECT_FALSE(loader->set_epoch(epoch)) << "nothing is running";
        drain_all(*loader, epochs[epoch]);
      }
      for (const Call& call : calls) {
        const auto loader = make_loader(dataset, workers);
        std::vector<int64_t> seen;
        Sample sample;
        for (int i = 0; i < 3; ++i) {
          ASSERT_TRUE(*loader->next(sample));
          for (const int64_t value : values_of(sample)) seen.push_back(value);
        }
        const std::string before = loader->save()->dump();
        call.make(*loader);
        EXPECT_EQ(loader->save()->dump(), before) << call.name;
        if (call.ended_by.empty()) {
          EXPECT_EQ(loader->epoch(), 0u) << call.name;
          drain_all(*loader, seen);
          EXPECT_EQ(seen, epochs[0]) << call.name;
          const auto more = loader->next(sample);
          EXPECT_TRUE(more.ok() && !*more) << call.name << ": the end lasts until begin()";
          const auto state = loader->save();
          const auto other = make_loader(dataset, workers);
          ASSERT_TRUE(state.ok() && other->load(*state).ok());
          std::vector<int64_t> resumed;
          drain_all(*other, resumed);
          EXPECT_EQ(resumed, epochs[call.following]) << call.name << ": the state is of what comes next";
        } else {
          for (int i = 0; i < 2; ++i) {
            const auto more = loader->next(sample);
            ASSERT_FALSE(more.ok()) << call.name;
            EXPECT_EQ(more.status().code(), Code::cancelled);
            EXPECT_NE(more.status().text().find("ended by " + call.ended_by), std::string::npos)
                << more.status().text();
          }
        }
        EXPECT_EQ(loader->epoch(), call.following) << call.name;
        ASSERT_TRUE(loader->begin().ok());
        std::vector<int64_t> next;
        drain_all(*loader, next);
        EXPECT_EQ(next, epochs[call.following]) << call.name;
      }
    }
}

TEST(Loader, AnEpochAfterAStateKeepsOrReplacesIt) {
  for (const Dataset& dataset : loader_datasets()) {
    std::vector<std::vector<int64_t>> epochs(4);
    for (uint64_t epoch = 0; epoch < epochs.size(); ++epoch) {
      const auto loader = make_loader(dataset, 0);
      (void)loader->set_epoch(epoch);
      drain_all(*loader, epochs[epoch]);
    }
    const auto first = make_loader(dataset, 0);
    (void)first->set_epoch(1);
    std::vector<int64_t> seen;
    Sample sample;
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE(*first->next(sample));
      for (const int64_t value : values_of(sample)) seen.push_back(value);
    }
    const Value state = *first->save();
    for (const uint64_t epoch : {0, 1, 2, 3}) {
      const auto loader = make_loader(dataset, 0);
      ASSERT_TRUE(loader->check_state(state).ok());
      EXPECT_EQ(loader->epoch(), 0u) << "a check loads nothing";
      ASSERT_TRUE(loader->load(state).ok());
      EXPECT_FALSE(loader->set_epoch(epoch));
      std::vector<int64_t> got = epoch == 1 ? seen : std::vector<int64_t>();
      drain_all(*loader, got);
      EXPECT_EQ(got, epochs[epoch]) << epoch;
    }
    const auto again_there = make_loader(dataset, 2);
    ASSERT_TRUE(again_there->load(state).ok());
    for (int i = 0; i < 3; ++i)
      ASSERT_TRUE(again_there->begin().ok()) << "nothing was taken: it begins there again";
    std::vector<int64_t> there = seen;
    drain_all(*again_there, there);
    EXPECT_EQ(there, epochs[1]);
    // Named again and left before its end, an epoch begins again.
    EXPECT_TRUE(first->set_epoch(1));
    ASSERT_TRUE(first->begin().ok());
    std::vector<int64_t> again;
    drain_all(*first, again);
    EXPECT_EQ(again, epochs[1]);
    EXPECT_EQ(first->epoch(), 2u);
  }
}

TEST(Loader, WhoCannotWaitGetsOnAllTheSame) {
  std::vector<int64_t> expected, seen;
  const Dataset data = loader_datasets()[1];
  drain_all(*make_loader(data, 2), expected);
  const auto loader = make_loader(data, 0);
  Sample sample;
  for (int asked = 0; asked < 100'000; ++asked) {
    const auto more = loader->next_within(sample, asked % 2 ? 0 : ~uint64_t{0} >> asked % 3);
    ASSERT_TRUE(more.ok()) << more.status().text();
    if (!more->has_value()) continue;
    if (!**more) break;
    for (const int64_t value : values_of(sample)) seen.push_back(value);
  }
  EXPECT_EQ(seen, expected);
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

// A function that is traced may build, and trace, another pipeline.
TEST(Tracing, AnErrorOutlastsATraceWithinTheFunction) {
  const Dataset data = range(3).map([](const Fields& s) {
    const Symbol missing = s["no such"];
    const auto inner = range(2).map([](const Fields& t) { return Outputs{{"x", t["value"]}}; });
    EXPECT_TRUE(inner.node().ok());
    return Outputs{{"x", missing}};
  });
  ASSERT_FALSE(data.node().ok());
  EXPECT_NE(data.node().status().text().find("no such"), std::string::npos) << data.node().status().text();
}

}  // namespace
}  // namespace headrace
