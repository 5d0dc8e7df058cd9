// Runs with the tuner on simulated machines: the rates they reach, the limits they name, the settings they
// give back; and that results do not depend on any of it.
#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <thread>

#include "headrace/formats/arrays/arrays.h"
#include "headrace/formats/opening/open.h"
#include "headrace/headrace.h"
#include "headrace/io/testing/memory_store.h"
#include "headrace/run/engine/simulated_crew.h"

namespace headrace {
namespace {

constexpr double kMs = 1e6;
constexpr uint64_t kRecord = 1000, kBatch = 32, kSummed = 10;

struct TunedOutcome {
  double rate = 0;  // samples per second of the machine's time, after 20 s of tuning
  std::string limit;
  Settings settings;
  Value report;
  uint64_t sum = 0;  // of the bytes of kSummed batches, in order
};

TunedOutcome run_tuned(const SimulatedMachine& machine, LoaderOptions options = {}, double warm = 20,
                       double measured = 5) {
  auto store = std::make_shared<MemoryStore>();
  std::string bytes(200 * kRecord, 0);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7919 >> 3);
  store->add("records", std::move(bytes));
  Value layout{Value::Object()};
  layout.set("record_bytes", kRecord);
  const auto source = open_source(*store, "records", "fixed", layout);
  EXPECT_TRUE(source.ok()) << source.status().text();
  const Value shape{int64_t{kRecord}};
  const Dataset data =
      from_source(*source)
          .shuffle({.seed = 1})
          .repeat()
          .map([&](const Fields& s) -> Outputs {
            return {
                {"record", s["record"].apply("decode_raw", {{"dtype", "u8"}, {"shape", int64_t{kRecord}}})}};
          })
          .batch(kBatch);
  options.simulated = std::make_shared<SimulatedMachine>(machine);
  if (options.memory_budget == 0) options.memory_budget = size_t{256} << 20;
  auto loader = Loader::make(*data.node(), options, store);
  EXPECT_TRUE(loader.ok()) << loader.status().text();
  const uint64_t& now = options.simulated->now_ns;
  Sample element;
  TunedOutcome out;
  uint64_t before = 0, began = 0, count = 0;
  while (static_cast<double>(now) < (warm + measured) * 1e9) {
    const auto more = (*loader)->next(element);
    EXPECT_TRUE(more.ok() && *more) << more.status().text();
    if (!more.ok() || !*more) return out;
    if (count < kSummed) {
      const View view = element.fields[0].view();
      for (size_t i = 0; i < view.size_bytes(); ++i)
        out.sum = out.sum * 31 + static_cast<uint8_t>(view.data[i]);
    }
    element = {};
    ++count;
    if (static_cast<double>(now) <= warm * 1e9) before = count, began = now;
  }
  out.rate = static_cast<double>((count - before) * kBatch) / (static_cast<double>(now - began) * 1e-9);
  out.report = (*loader)->report();
  if (std::getenv("HEADRACE_TUNING_LOG"))
    std::fprintf(stderr, "%s\n%s\n", out.report.find("decisions")->dump(1).c_str(),
                 out.report.find("history")->list()->back().dump().c_str());
  out.limit = *out.report.find("limited_by")->text();
  for (const Knob knob : kKnobs)
    out.settings.of(knob) =
        static_cast<size_t>(*out.report.find("settings")->find(knob_name(knob))->integer());
  return out;
}

TEST(Tuning, FindsTheReadersThatKeepTheCoresBusy) {
  const TunedOutcome got = run_tuned({.cores = 4, .cpu_ns = 4 * kMs, .latency_ns = 60 * kMs});
  EXPECT_GT(got.rate, 0.95 * 1000);  // four cores, 4 ms per sample; 60 reads must be in flight
  EXPECT_GE(got.settings.io, 55u);
  EXPECT_LE(got.settings.io, 120u);
  EXPECT_EQ(got.limit, "cpu");
}

TEST(Tuning, NamesTheStoresBandwidthAndKeepsFewReaders) {
  const SimulatedMachine machine{.cores = 8, .cpu_ns = 1 * kMs, .latency_ns = 5 * kMs, .bytes_per_s = 2e6};
  const TunedOutcome got = run_tuned(machine);
  EXPECT_EQ(got.limit, "store bandwidth");
  EXPECT_LE(got.settings.io, 40u);
  SimulatedMachine faster = machine;
  faster.bytes_per_s *= 2;
  EXPECT_NEAR(run_tuned(faster).rate / got.rate, 2, 0.3);
}

// Decompression and checksums: no time is spent waiting for the store.
TEST(Tuning, ReadersThatUnpackAreAsManyAsThereAreCores) {
  const SimulatedMachine machine{.cores = 8, .unpack_ns = 2 * kMs, .latency_ns = 0.1 * kMs};
  const TunedOutcome got = run_tuned(machine);
  EXPECT_GT(got.rate, 0.95 * 4000);
  EXPECT_EQ(got.limit, "cpu");
  EXPECT_LE(got.settings.io, 12u);
  LoaderOptions given;
  given.io = 1;
  const TunedOutcome one = run_tuned(machine, given);
  EXPECT_EQ(one.limit, "readers");
  double predicted = 0;
  for (const Value& what : *one.report.find("what_if")->list()) {
    EXPECT_NE(*what.find("change")->text(), "with a store twice as fast") << what.dump();
    if (*what.find("change")->text() == "with 8 reads in flight") predicted = *what.find("speedup")->real();
  }
  EXPECT_NEAR(got.rate / one.rate, predicted, 0.1 * predicted);
}

TEST(Tuning, ASlowConsumerGetsFewerThreadsAndDoesNotWait) {
  const TunedOutcome got =
      run_tuned({.cores = 8, .cpu_ns = 5 * kMs, .latency_ns = 1 * kMs, .consumer_ns = 50 * kMs});
  EXPECT_NEAR(got.rate, 640, 7);
  EXPECT_EQ(got.limit, "consumer");
  EXPECT_LE(got.settings.workers, 5u);  // four are needed
  EXPECT_LE(got.settings.io, 2u);
}

TEST(Tuning, FunctionsThatWaitGetMoreWorkersThanCores) {
  const TunedOutcome got = run_tuned({.cores = 2, .cpu_ns = 1 * kMs, .sleep_ns = 9 * kMs});
  EXPECT_GT(got.rate, 0.95 * 2000);  // two cores; twenty at a time
  EXPECT_EQ(got.limit, "cpu");
}

TEST(Tuning, PythonsLockIsNamedAndWorkersThatOnlyWaitForItAreGivenBack) {
  const TunedOutcome got = run_tuned({.cores = 8, .cpu_ns = 0.1 * kMs, .python_ns = 2 * kMs});
  EXPECT_GT(got.rate, 0.93 * 500);
  EXPECT_EQ(got.limit, "python");
  EXPECT_LE(got.settings.workers, 4u);
}

TEST(Tuning, PredictsWhatMoreCoresBring) {
  SimulatedMachine machine{.cores = 1, .cpu_ns = 2 * kMs, .latency_ns = 1 * kMs};
  const TunedOutcome one = run_tuned(machine);
  double predicted = 0;
  for (const Value& what : *one.report.find("what_if")->list())
    if (*what.find("change")->text() == "with 2 cores") predicted = *what.find("speedup")->real();
  machine.cores = 2;
  EXPECT_NEAR(run_tuned(machine).rate / one.rate, predicted, 0.15 * predicted);
  EXPECT_NEAR(predicted, 2, 0.1);
}

TEST(Tuning, NumbersThatAreGivenOrLockedStay) {
  const SimulatedMachine machine{.cores = 4, .cpu_ns = 4 * kMs, .latency_ns = 60 * kMs};
  LoaderOptions given;
  given.io = 3;
  EXPECT_EQ(run_tuned(machine, given).settings.io, 3u);
  EXPECT_EQ(run_tuned(machine, given).limit, "store latency");
  LoaderOptions locked;
  locked.tuned = false, locked.start = {2, 5, 7};
  const TunedOutcome got = run_tuned(machine, locked);
  EXPECT_EQ(got.settings, (Settings{2, 5, 7}));
  EXPECT_TRUE(got.report.find("decisions")->list()->empty());
}

// Pauses for validation or a checkpoint: measurements across them do not reflect the settings.
TEST(Tuning, PausesOfTheConsumerSpoilNoTrial) {
  SimulatedMachine machine{.cores = 2, .cpu_ns = 0.5 * kMs, .sleep_ns = 9.5 * kMs};
  const TunedOutcome without = run_tuned(machine, {}, 60, 5);
  machine.pause_ns = 5000 * kMs;
  for (const uint64_t every : {80, 130, 200, 270}) {
    machine.pause_every = every;
    const TunedOutcome got = run_tuned(machine, {}, 120, 5);
    EXPECT_GE(got.settings.workers, without.settings.workers / 2) << every;
    for (const Value& decision : *got.report.find("decisions")->list())
      EXPECT_FALSE(*decision.find("undone")->boolean()) << every << decision.dump();
  }
}

// Steps that always take that long are not pauses.
TEST(Tuning, ASlowStepIsNoPause) {
  const TunedOutcome got = run_tuned(
      {.cores = 8, .cpu_ns = 5 * kMs, .latency_ns = 1 * kMs, .consumer_ns = 1500 * kMs}, {}, 90, 10);
  EXPECT_EQ(got.limit, "consumer");
  EXPECT_LE(got.settings.workers, 3u);
}

// Epochs too short to judge a trial, with pauses between them: nothing else is changed in the meantime.
TEST(Tuning, ATrialOutlastsItsEpoch) {
  Tuner tuner({2, 2, 3}, {{1, 1, 1}, {64, 64, 64}}, 2);
  Gauge gauge;
  gauge.seconds = 0.5, gauge.rows = 250, gauge.elements = gauge.samples = 250;
  gauge.waited = 0.5, gauge.occupied = 1, gauge.busy = 0.05;  // both workers wait in a function
  for (int epoch = 0; epoch < 9; ++epoch) {
    tuner.restart();
    for (int i = 0; i < 2; ++i) {
      gauge.settings = tuner.settings();
      gauge.occupied = 0.5 * static_cast<double>(gauge.settings.workers);
      tuner.look(gauge);
    }
    size_t unjudged = 0;
    for (const Decision& decision : tuner.decisions()) unjudged += decision.obtained < 0;
    ASSERT_LE(unjudged, 1u);
  }
  EXPECT_LE(tuner.settings().workers, 8u);  // one trial at most
}

TEST(Tuning, WhatARunFoundIsWhereAnotherBegins) {
  const SimulatedMachine machine{.cores = 4, .cpu_ns = 4 * kMs, .latency_ns = 60 * kMs};
  LoaderOptions again;
  again.tuned = false, again.start = run_tuned(machine).settings;
  EXPECT_GT(run_tuned(machine, again, 1, 4).rate, 0.95 * 1000);
}

TEST(Tuning, ChangesNothingThatComesOut) {
  const SimulatedMachine machines[] = {
      {.cores = 4, .cpu_ns = 4 * kMs, .latency_ns = 60 * kMs},
      {.cores = 2, .cpu_ns = 1 * kMs, .sleep_ns = 9 * kMs},
      {.cores = 8, .cpu_ns = 1 * kMs, .slow_one_in = 100, .slow_times = 100, .consumer_ns = 9 * kMs}};
  LoaderOptions alone;
  alone.workers = alone.io = alone.ready = 1;
  const uint64_t expected = run_tuned(machines[0], alone, 1, 30).sum;
  for (const SimulatedMachine& machine : machines) EXPECT_EQ(run_tuned(machine).sum, expected);
}

int64_t waits(int64_t x) {
  std::this_thread::sleep_for(std::chrono::milliseconds(4));
  return 3 * x;
}

bool has_turned_workers(const Loader& loader) {
  const Value report = loader.report();
  return std::ranges::any_of(*report.find("decisions")->list(),
                             [](const Value& d) { return *d.find("knob")->text() == "workers"; });
}

// In the first epoch, unless other programs use the cores: then measurements are meaningless, and the tuner
// must not change anything.
constexpr int kMostEpochs = 8;

TEST(TuningOfThreads, TurnsThemWhileTheyWork) {
  constexpr int64_t kCount = 6000;
  const Dataset data = from_source(*range_source(0, kCount)).map(c_function("waits", &waits)).batch(8);
  auto loader = Loader::make(*data.node(), {}, file_store());
  ASSERT_TRUE(loader.ok()) << loader.status().text();
  Sample element;
  for (int epoch = 0; epoch < kMostEpochs && !has_turned_workers(**loader); ++epoch) {
    ASSERT_TRUE((*loader)->begin().ok());
    int64_t next = 0;
    for (auto more = (*loader)->next(element); more.ok() && *more; more = (*loader)->next(element))
      for (int64_t row = 0; row < element.fields[0].shape[0]; ++row)
        EXPECT_EQ(reinterpret_cast<const int64_t*>(element.fields[0].view().data)[row], 3 * next++);
    EXPECT_EQ(next, kCount);
  }
  EXPECT_TRUE(has_turned_workers(**loader));
}

// Whichever input of a join is running.
TEST(TuningOfThreads, TurnsThemInEveryInputOfAJoin) {
  const auto all = [](const Fields& f) { return f["value"].apply("greater_equal", {{"value", int64_t{0}}}); };
  const auto input = [&](int64_t count) {
    return from_source(*range_source(0, count)).map(c_function("waits", &waits)).filter(all);
  };
  auto loader = Loader::make(*input(40).concatenate(input(3000)).node(), {}, file_store());
  ASSERT_TRUE(loader.ok()) << loader.status().text();
  Sample element;
  for (int epoch = 0; epoch < kMostEpochs && !has_turned_workers(**loader); ++epoch) {
    ASSERT_TRUE((*loader)->begin().ok());
    while (*(*loader)->next(element)) {
    }
  }
  EXPECT_TRUE(has_turned_workers(**loader));
}

TEST(Tuning, StaysWithinTheBudget) {
  LoaderOptions options;
  options.memory_budget = size_t{300} << 10;  // nine batches
  const TunedOutcome got = run_tuned({.cores = 8, .cpu_ns = 0.1 * kMs, .latency_ns = 100 * kMs}, options);
  EXPECT_LE(*got.report.find("memory")->find("peak")->integer(), 300 << 10);
  EXPECT_EQ(got.limit, "memory");
}

}  // namespace
}  // namespace headrace
