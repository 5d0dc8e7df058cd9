#include "headrace/run/report/report.h"

#include <gtest/gtest.h>

#include <map>

namespace headrace {
namespace {

struct Case {
  const char* name;
  double busy_s, core_wait_s, io_s, waited_s;  // two workers and two reads in flight, in ten seconds
  const char* limit;
};

TEST(Report, OneIsOneElement) {
  RunTotals totals;
  totals.elements = totals.samples = 1, totals.wall_ns = 1'000'000'000, totals.cores = 2;
  const std::string text = report_text(make_report(totals, {}, {}, {}, {}));
  EXPECT_TRUE(text.starts_with("1 sample in 1.00 s: 1 samples/s, 1 element delivered\n")) << text;
}

TEST(Report, TheLimitIsWhatAFasterRunWouldNeed) {
  const Case cases[] = {
      {"the consumer never waits", 10, 0, 1, 0.1, "the consumer: it hardly ever waits for data"},
      {"workers compute all the time", 19, 0.5, 1, 9,
       "CPU: the workers are busy, most of the time in the engine"},
      {"workers have work and no core", 6, 11, 1, 9,
       "other programs use the cores: there was work for 17.00 s, but a core for only 6.00 s"},
      {"half of it, and reads wait for the store all the time", 5, 4, 19, 9,
       "storage latency: all 2 reads in flight wait for storage; more of them may help"},
      {"reads take all the time", 3, 0.2, 19, 9,
       "storage latency: all 2 reads in flight wait for storage; more of them may help"},
      {"nobody is busy", 3, 0.5, 1, 9,
       "neither CPU nor storage is fully used: more elements in flight (ready=) may help"},
  };
  for (const Case& c : cases) {
    RunTotals totals;
    totals.elements = totals.samples = 100, totals.wall_ns = 10'000'000'000, totals.cores = 2;
    const Gauge lately{.seconds = 10,
                       .settings = {2, 2, 3},
                       .rows = 100,
                       .waited = c.waited_s,
                       .occupied = c.busy_s + c.core_wait_s,
                       .busy = c.busy_s,
                       .lacked = c.core_wait_s,
                       .reading = c.io_s};
    const Value report = make_report(totals, lately, {}, {}, {});
    EXPECT_EQ(*report.find("limit")->text(), c.limit) << c.name;
  }
}

// On two cores.
std::string limited_by(const Gauge& lately) {
  RunTotals totals;
  totals.elements = 1, totals.wall_ns = 10'000'000'000, totals.cores = 2;
  return *make_report(totals, lately, {}, {}, {}).find("limited_by")->text();
}

// Readers that run Python code to make samples: one of two waits for the GIL.
TEST(Report, ReadersInPythonsCodeTakeTurnsWhateverCoresThereAre) {
  RunTotals totals;
  totals.elements = 1, totals.wall_ns = 10'000'000'000, totals.cores = 2;
  Gauge lately{.seconds = 10, .settings = {2, 2, 3}, .rows = 1000, .waited = 9.5};
  lately.reading = 19, lately.reading_cpu = 9.5;
  EXPECT_EQ(limited_by(lately), "store latency");
  lately.reading_in_python = 9.4;
  EXPECT_EQ(limited_by(lately), "python");
  const Value report = make_report(totals, lately, {}, {}, {});
  for (const Value& what : *report.find("what_if")->list())
    EXPECT_FALSE(what.find("change")->text()->ends_with("cores")) << *what.find("text")->text();
}

// Readers that only compute: no time is spent waiting for the store.
Gauge unpacking(Settings settings, double cpu_s) {
  return {.seconds = 10,
          .settings = settings,
          .rows = 1000,
          .waited = 9.9,
          .process = cpu_s + 0.1,
          .others = 0,
          .reading = 9.9 * static_cast<double>(settings.io),
          .reading_cpu = cpu_s};
}

TEST(Report, ReadersThatUnpackAreNotTheStores) {
  RunTotals totals;
  totals.elements = 1, totals.wall_ns = 10'000'000'000, totals.cores = 4, totals.most = {4, 1, 1024};
  const Value one = make_report(totals, unpacking({2, 1, 3}, 9.7), {}, {}, {});
  EXPECT_EQ(*one.find("limited_by")->text(), "readers");
  EXPECT_EQ(*one.find("limit")->text(),
            "the number of reads in flight (io=): 1 reader is busy while cores are idle");
  std::map<std::string, double> speedups;
  for (const Value& what : *one.find("what_if")->list())
    speedups[*what.find("change")->text()] = *what.find("speedup")->real();
  EXPECT_NEAR(speedups["with 4 reads in flight"], 4, 0.01);
  EXPECT_EQ(speedups.count("with a store twice as fast"), 0u);  // 1 % of the time

  const Value all = make_report(totals, unpacking({2, 4, 3}, 38), {}, {}, {});
  EXPECT_EQ(*all.find("limited_by")->text(), "cpu");
  const Value waits = make_report(totals, unpacking({2, 1, 3}, 4), {}, {}, {});
  EXPECT_EQ(*waits.find("limited_by")->text(), "store latency");
}

TEST(Report, WhatReadersUseIsCpuTimeOfTheRun) {
  RunTotals totals;
  totals.elements = totals.samples = 1000, totals.wall_ns = 10'000'000'000, totals.cores = 4;
  Counters reader(1), worker(1);
  reader.reading_cpu_ns.add(8'000'000'000), reader.reading_core_wait_ns.add(1'000'000'000);
  reader.io_reads.add(20);
  worker.busy_ns.add(2'000'000'000);
  const Value report = make_report(totals, unpacking({2, 4, 3}, 38), {&reader, &worker}, {{"scale", ""}}, {});
  EXPECT_EQ(*report.find("cpu_s")->real(), 10);
  EXPECT_EQ(*report.find("core_wait_s")->real(), 1);
  EXPECT_EQ(*report.find("io")->find("cpu_s")->real(), 8);
  EXPECT_EQ(*report.find("limit")->text(), "CPU: the readers are busy, most of the time in reading");
  const std::string text = report_text(report);
  EXPECT_NE(text.find("the run used 10.00 CPU s (10000.0 us per sample)"), std::string::npos) << text;
  EXPECT_NE(text.find("  reading                         20      8.000    400000.0"), std::string::npos)
      << text;
}

// The consumer uses one of two cores: a second reader would not get one.
TEST(Report, WhatTheConsumerComputesIsNotPromisedToOthers) {
  RunTotals totals;
  totals.elements = 1, totals.wall_ns = 10'000'000'000, totals.cores = 2, totals.most = {2, 1, 1024};
  Gauge lately = unpacking({2, 1, 3}, 9.5);
  lately.waited = 3, lately.process = 16.5;
  const Value report = make_report(totals, lately, {}, {}, {});
  EXPECT_EQ(*report.find("limited_by")->text(), "cpu");
  for (const Value& what : *report.find("what_if")->list())
    if (*what.find("change")->text() == "with 2 reads in flight") {
      EXPECT_LT(*what.find("speedup")->real(), 1.25) << what.dump();
    }
}

TEST(Report, ReadersWithoutACoreAreHeldBackByOtherPrograms) {
  Gauge lately = unpacking({2, 2, 3}, 8);
  lately.reading_lacked = 10, lately.others = 1.2;
  EXPECT_EQ(limited_by(lately), "cores");
  lately.others = 0;  // no other programs: its own threads use the cores
  EXPECT_NE(limited_by(lately), "cores");
}

TEST(Report, CoresThatTheConsumerHoldsAreNotThoseOfOtherPrograms) {
  Gauge lately{.seconds = 10,
               .settings = {2, 2, 3},
               .rows = 1,
               .waited = 5,
               .occupied = 19.5,
               .busy = 13,
               .lacked = 6.5};
  EXPECT_EQ(limited_by(lately), "cores");
  lately.process = 19.8;
  EXPECT_EQ(limited_by(lately), "cpu");
}

TEST(Report, OtherProgramsHoldCoresOnlyIfTheyUseThem) {
  Gauge lately{.seconds = 10,
               .settings = {2, 2, 3},
               .rows = 1'000'000,
               .parts = 1'000'000,
               .waited = 5,
               .occupied = 12,
               .busy = 7,
               .lacked = 5};
  EXPECT_EQ(limited_by(lately), "cores");  // unknown what other programs use
  lately.others = 0.8;
  EXPECT_EQ(limited_by(lately), "cores");
  lately.others = 0.05;
  EXPECT_EQ(limited_by(lately), "cpu");  // threads wake one another for a million tiny parts
  lately.parts = 1000;
  EXPECT_EQ(limited_by(lately), "unknown");
}

TEST(Report, CoresThatOthersHoldAreNotPromised) {
  RunTotals totals;
  totals.elements = 1, totals.wall_ns = 10'000'000'000, totals.cores = 2;
  totals.most = {32, 256, 1024};
  const Gauge lately{.seconds = 10,
                     .settings = {2, 2, 3},
                     .rows = 1000,
                     .waited = 9.9,
                     .occupied = 20,
                     .busy = 10,
                     .lacked = 10,
                     .process = 10,
                     .others = 1};
  const Value report = make_report(totals, lately, {}, {}, {});
  ASSERT_EQ(*report.find("limited_by")->text(), "cores");
  std::map<std::string, double> speedups;
  for (const Value& what : *report.find("what_if")->list())
    speedups[*what.find("change")->text()] = *what.find("speedup")->real();
  EXPECT_NEAR(speedups["with 4 cores next to the other programs"], 3,
              0.01);  // one core of the two now, three of the four
  EXPECT_NEAR(speedups["without the other programs"], 2, 0.01);
}

// 7 of 8 workers sleep: more cores would bring no gain, more workers and shorter waits would.
TEST(Report, WhereFunctionsWaitMoreWorkersArePromisedAndNoCores) {
  RunTotals totals;
  totals.elements = 1, totals.wall_ns = 10'000'000'000, totals.cores = 2, totals.most = {256, 256, 1024};
  totals.may_wait = true;
  const Gauge lately{.seconds = 10,
                     .settings = {8, 2, 3},
                     .rows = 4000,
                     .waited = 9.9,
                     .occupied = 79,
                     .busy = 3,
                     .process = 3.1,
                     .others = 0};
  const Value report = make_report(totals, lately, {}, {}, {});
  ASSERT_EQ(*report.find("limited_by")->text(), "functions that wait");
  std::map<std::string, double> speedups;
  for (const Value& what : *report.find("what_if")->list())
    speedups[*what.find("change")->text()] = *what.find("speedup")->real();
  EXPECT_NEAR(speedups["with 16 workers"], 2, 0.05);
  EXPECT_GT(speedups["with functions that wait half as long"], 1.8);
  EXPECT_EQ(speedups.count("with 4 cores"), 0u);
}

TEST(Report, WhatTheConsumerUsesOthersDoNotTake) {
  RunTotals totals;
  totals.elements = 1, totals.wall_ns = 10'000'000'000, totals.cores = 2, totals.most = {32, 256, 1024};
  const Gauge lately{.seconds = 10,
                     .settings = {2, 2, 3},
                     .rows = 1000,
                     .waited = 5,
                     .occupied = 20,
                     .busy = 6,
                     .lacked = 10,
                     .process = 15,
                     .others = 0.25};
  const Value report = make_report(totals, lately, {}, {}, {});
  ASSERT_EQ(*report.find("limited_by")->text(), "cores");
  for (const Value& what : *report.find("what_if")->list()) {
    if (*what.find("change")->text() != "without the other programs") continue;
    EXPECT_LT(*what.find("speedup")->real(), 1.2);  // an eighth of the cores
  }
}

TEST(Report, NeighboursOfAQuotaTakeNothingFromIt) {
  RunTotals totals;
  totals.elements = 1, totals.wall_ns = 10'000'000'000, totals.cores = 4;
  const Gauge lately{.seconds = 10,
                     .settings = {1, 2, 3},
                     .rows = 1000,
                     .waited = 9,
                     .occupied = 9.9,
                     .busy = 9.8,
                     .process = 9.9,
                     .usable = 4,
                     .others = 20,
                     .machine = 64};
  EXPECT_EQ(*make_report(totals, lately, {}, {}, {}).find("limited_by")->text(), "workers");
}

TEST(Report, AQuotaThatIsUsedUpIsNotOtherPrograms) {
  Gauge lately{.seconds = 10,
               .settings = {2, 2, 3},
               .rows = 1,
               .waited = 9,
               .occupied = 20,
               .busy = 14,
               .lacked = 6,
               .process = 14.8,
               .others = 30};  // of a large machine
  EXPECT_EQ(limited_by(lately), "cores");
  lately.usable = 1.5;
  EXPECT_EQ(limited_by(lately), "cpu");
}

TEST(Report, MoreWorkersThanCoresAreNotOtherPrograms) {
  RunTotals totals;
  totals.elements = 1, totals.wall_ns = 10'000'000'000, totals.cores = 2;
  const Gauge lately{.seconds = 10,
                     .settings = {8, 2, 3},
                     .rows = 1,
                     .waited = 10,
                     .occupied = 79,
                     .busy = 19,
                     .lacked = 60};
  const Value report = make_report(totals, lately, {}, {}, {});
  EXPECT_TRUE(report.find("limit")->text()->starts_with("CPU: ")) << *report.find("limit")->text();
}

}  // namespace
}  // namespace headrace
