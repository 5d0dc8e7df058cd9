// Stores that take 20 or 50 ms a read, on simulated machines that are quiet or whose cores other programs
// keep busy: which limit is named, how soon reads are in flight, and that a fast store gets no more of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "headrace/formats/opening/open.h"
#include "headrace/headrace.h"
#include "headrace/io/testing/memory_store.h"
#include "headrace/io/wrapped_store.h"
#include "headrace/run/engine/simulated_crew.h"

namespace headrace {
namespace {

constexpr double kNsOfMs = 1e6;
constexpr uint64_t kSlowBatch = 64, kSlowRecords = 300;

struct Layout {
  const char* name;
  uint64_t record;  // bytes
  bool shuffled;
};
// Each image is a read of its own; many records of a shard come with one.
constexpr Layout kImages{"images", 20'000, true}, kShards{"shards", 1'000, false};

class FarStore final : public WrappedStore {
 public:
  FarStore(std::shared_ptr<Store> store, size_t reads) : WrappedStore(std::move(store)), reads_(reads) {}
  size_t reads_at_first() const override { return reads_; }

 private:
  size_t reads_;
};

struct SlowRun {
  double rate = 0;  // samples per second between `warm` and `warm + measured`
  Value report;

  std::string limit() const { return *report.find("limited_by")->text(); }
  size_t io() const { return static_cast<size_t>(*report.find("settings")->find("io")->integer()); }
  const Value::List& decisions() const { return *report.find("decisions")->list(); }
};

std::pair<Dataset, std::shared_ptr<Store>> slow_data(const Layout& layout) {
  auto store = std::make_shared<MemoryStore>();
  store->add("records", std::string(kSlowRecords * layout.record, 'x'));
  Value form{Value::Object()};
  form.set("record_bytes", layout.record);
  const auto source = open_source(*store, "records", "fixed", form);
  EXPECT_TRUE(source.ok()) << source.status().text();
  const auto decoded = [&](const Fields& s) -> Outputs {
    const auto shape = static_cast<int64_t>(layout.record);
    return {{"record", s["record"].apply("decode_raw", {{"dtype", "u8"}, {"shape", shape}})}};
  };
  const Dataset all = from_source(*source);
  return {(layout.shuffled ? all.shuffle({.seed = 1}) : all).repeat().map(decoded).batch(kSlowBatch), store};
}

SlowRun run_slow(const SimulatedMachine& machine, const Layout& layout, LoaderOptions options = {},
                 double warm = 3, double measured = 2, size_t at_first = 0) {
  const auto [data, store] = slow_data(layout);
  options.simulated = std::make_shared<SimulatedMachine>(machine);
  if (options.memory_budget == 0) options.memory_budget = size_t{1} << 30;
  auto loader = Loader::make(*data.node(), options, std::make_shared<FarStore>(store, at_first));
  EXPECT_TRUE(loader.ok()) << loader.status().text();
  const uint64_t& now = options.simulated->now_ns;
  SlowRun out;
  Sample element;
  uint64_t before = 0, began = 0, count = 0;
  while (static_cast<double>(now) < (warm + measured) * 1e9) {
    const auto more = (*loader)->next(element);
    EXPECT_TRUE(more.ok() && *more) << more.status().text();
    if (!more.ok() || !*more) return out;
    element = {};
    ++count;
    if (static_cast<double>(now) <= warm * 1e9 || began == 0) before = count, began = now;
  }
  out.rate = static_cast<double>((count - before) * kSlowBatch) / (static_cast<double>(now - began) * 1e-9);
  out.report = (*loader)->report();
  if (std::getenv("HEADRACE_TUNING_LOG"))
    std::fprintf(stderr, "%s %s: %.0f/s, %s\n%s\n", layout.name, out.limit().c_str(), out.rate,
                 out.report.find("settings")->dump().c_str(), out.report.find("decisions")->dump(1).c_str());
  return out;
}

LoaderOptions fixed_reads(size_t io, size_t ready = 0) {
  LoaderOptions out;
  out.io = io, out.ready = ready;
  return out;
}

class SlowStore : public ::testing::TestWithParam<std::tuple<double, bool, Layout>> {
 protected:
  double latency_ms() const { return std::get<0>(GetParam()); }
  const Layout& layout() const { return std::get<2>(GetParam()); }
  SimulatedMachine machine() const {
    return {.cores = 2,
            .others = size_t{std::get<1>(GetParam()) ? 2u : 0u},
            .cpu_ns = 0.1 * kNsOfMs,
            .latency_ns = latency_ms() * kNsOfMs};
  }
};

TEST_P(SlowStore, DefaultsReachTheBestFixedReadsWithinThreeSeconds) {
  double best = 0;
  for (const size_t io : {64, 256})
    for (const size_t ready : {0, 24})
      best = std::max(best, run_slow(machine(), layout(), fixed_reads(io, ready)).rate);
  const SlowRun tuned = run_slow(machine(), layout());
  EXPECT_GE(tuned.rate, 0.95 * best);
}

TEST_P(SlowStore, TheFirstDecisionComesWithinTwoReads) {
  const SlowRun tuned = run_slow(machine(), layout(), {}, 1, 0.5);
  ASSERT_FALSE(tuned.decisions().empty());
  const Value& first = tuned.decisions().front();
  // A read waits for a core, too, where others hold them all.
  EXPECT_LE(*first.find("at_s")->real(),
            2 * (latency_ms() + machine().slice_ns * 1e-6 * (machine().others > 0)) * 1e-3);
}

INSTANTIATE_TEST_SUITE_P(Stores, SlowStore,
                         ::testing::Combine(::testing::Values(20.0, 50.0), ::testing::Bool(),
                                            ::testing::Values(kImages, kShards)),
                         [](const auto& info) {
                           return std::to_string(static_cast<int>(std::get<0>(info.param))) + "ms" +
                                  (std::get<1>(info.param) ? "Busy" : "Quiet") + std::get<2>(info.param).name;
                         });

struct NamedLimit {
  const char* name;
  double latency_ms, cpu_ms;
  size_t others, io;  // 0: tuned
  const char* limit;
};

TEST(SlowStores, TheLimitIsWhatHoldsTheRunBack) {
  const NamedLimit cases[] = {
      {"few reads, quiet", 50, 0.1, 0, 2, "store latency"},
      {"few reads, busy", 50, 0.1, 2, 2, "store latency"},
      {"all reads, quiet", 50, 0.1, 0, 256, "store latency"},
      {"decoding of a slow store, quiet", 20, 10, 0, 0, "cpu"},
      {"decoding of a slow store, busy", 20, 10, 2, 0, "cores"},
      {"decoding of a fast store, quiet", 0.01, 2, 0, 0, "cpu"},
      {"decoding of a fast store, busy", 0.01, 2, 2, 0, "cores"},
  };
  for (const NamedLimit& c : cases) {
    const SimulatedMachine machine{
        .cores = 2, .others = c.others, .cpu_ns = c.cpu_ms * kNsOfMs, .latency_ns = c.latency_ms * kNsOfMs};
    EXPECT_EQ(run_slow(machine, kImages, fixed_reads(c.io), 8, 4).limit(), c.limit) << c.name;
  }
}

TEST(SlowStores, AFastOneGetsNoMoreReads) {
  for (const size_t others : {0, 2}) {
    const SimulatedMachine machine{.cores = 2,
                                   .others = others,
                                   .cpu_ns = 1 * kNsOfMs,
                                   .unpack_ns = 0.02 * kNsOfMs,
                                   .latency_ns = 0.005 * kNsOfMs};
    const SlowRun tuned = run_slow(machine, kImages, {}, 8, 4);
    EXPECT_LE(tuned.io(), 2u) << others;
    EXPECT_GE(tuned.rate, 0.97 * run_slow(machine, kImages, fixed_reads(2), 8, 4).rate) << others;
  }
}

TEST(SlowStores, AStoreMaySayHowManyReadsToBeginWith) {
  const SimulatedMachine machine{.cores = 2, .cpu_ns = 0.1 * kNsOfMs, .latency_ns = 50 * kNsOfMs};
  const SlowRun far = run_slow(machine, kImages, {}, 0.1, 0.1, 64);
  ASSERT_FALSE(far.decisions().empty());
  for (const Value& decision : far.decisions()) {
    const bool is_of_reads = *decision.find("knob")->text() == "io";
    EXPECT_GE(*decision.find("from")->integer(), is_of_reads ? 64 : 3);
  }
  LoaderOptions given = fixed_reads(3);
  EXPECT_EQ(run_slow(machine, kImages, given, 0.1, 0.1, 64).io(), 3u);
}

TEST(SlowStores, PredictWhatMoreReadsBring) {
  const SimulatedMachine machine{.cores = 2, .cpu_ns = 0.1 * kNsOfMs, .latency_ns = 50 * kNsOfMs};
  const SlowRun few = run_slow(machine, kImages, fixed_reads(8), 3, 3);
  double predicted = 0;
  for (const Value& what : *few.report.find("what_if")->list())
    if (*what.find("change")->text() == "with 32 reads in flight") predicted = *what.find("speedup")->real();
  ASSERT_GT(predicted, 0) << few.report.find("what_if")->dump();
  EXPECT_NEAR(run_slow(machine, kImages, fixed_reads(32), 3, 3).rate / few.rate, predicted, 0.1 * predicted);
}

// Reads of this machine's threads that sleep.
class SleepingStore final : public WrappedStore {
 public:
  SleepingStore(std::shared_ptr<Store> store, std::chrono::microseconds latency)
      : WrappedStore(std::move(store)), latency_(latency) {}
  Result<std::unique_ptr<OpenFile>> open(const std::string& path) override {
    HEADRACE_ASSIGN(auto file, store_->open(path));
    return std::unique_ptr<OpenFile>(std::make_unique<File>(std::move(file), latency_));
  }

 private:
  class File final : public OpenFile {
   public:
    File(std::unique_ptr<OpenFile> file, std::chrono::microseconds latency)
        : file_(std::move(file)), latency_(latency) {}
    Result<uint64_t> size() override { return file_->size(); }
    Result<size_t> read(uint64_t offset, std::span<std::byte> out) override {
      std::this_thread::sleep_for(latency_);
      return file_->read(offset, out);
    }

   private:
    std::unique_ptr<OpenFile> file_;
    std::chrono::microseconds latency_;
  };
  std::chrono::microseconds latency_;
};

Value report_without_workers(std::chrono::microseconds latency) {
  const auto [data, store] = slow_data(kImages);
  LoaderOptions options;
  options.workers = 0;
  auto loader = Loader::make(*data.take(2).node(), options, std::make_shared<SleepingStore>(store, latency));
  EXPECT_TRUE(loader.ok()) << loader.status().text();
  Sample element;
  while (*(*loader)->next(element)) {
  }
  return (*loader)->report();
}

TEST(SlowStores, WithoutWorkersTheTimeIsTheStores) {
  const Value slow = report_without_workers(std::chrono::milliseconds(3));
  EXPECT_EQ(*slow.find("limited_by")->text(), "caller");
  EXPECT_NE(slow.find("limit")->text()->find("waits for storage"), std::string::npos)
      << *slow.find("limit")->text();
  ASSERT_EQ(slow.find("what_if")->list()->size(), 1u);
  const Value& what = slow.find("what_if")->list()->front();
  EXPECT_NE(what.find("change")->text()->find("reads in flight"), std::string::npos);
  EXPECT_GT(*what.find("speedup")->real(), 2);

  const Value fast = report_without_workers(std::chrono::microseconds(0));
  EXPECT_EQ(fast.find("limit")->text()->find("waits for storage"), std::string::npos)
      << *fast.find("limit")->text();
}

}  // namespace
}  // namespace headrace
