#include "headrace/run/report.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

struct Case {
  const char* name;
  double busy_s, core_wait_s, io_s, waited_s;  // of two workers and two reads in flight, in ten seconds
  const char* limit;
};

TEST(Report, TheLimitIsWhatAFasterRunWouldNeed) {
  const Case cases[] = {
      {"the consumer never waits", 10, 0, 1, 0.1, "the consumer: it hardly ever waits for data"},
      {"workers compute all the time", 19, 0.5, 1, 9, "CPU: the workers are busy, most of it in the engine"},
      {"workers have work and no core", 6, 11, 1, 9,
       "other programs hold the cores: the workers had work for 17.00 s and a core for 6.00 s of them"},
      {"half of it, beside reads", 5, 4, 19, 9,
       "other programs hold the cores: the workers had work for 9.00 s and a core for 5.00 s of them"},
      {"reads take all the time", 3, 0.2, 19, 9,
       "storage: reads take most of the time; more reads in flight may help"},
      {"nobody is busy", 3, 0.5, 1, 9,
       "neither CPU nor storage is full: more elements under way (ready=) may help"},
  };
  const auto ns = [](double s) { return static_cast<uint64_t>(s * 1e9); };
  for (const Case& c : cases) {
    RunTotals totals;
    totals.elements = totals.samples = 100, totals.wall_ns = ns(10), totals.waited_ns = ns(c.waited_s);
    totals.workers = totals.io = totals.cores = 2;
    Counters counters(0);
    counters.busy_ns.add(ns(c.busy_s)), counters.core_wait_ns.add(ns(c.core_wait_s));
    counters.io_ns.add(ns(c.io_s));
    const Value report = make_report(totals, {&counters}, {}, {});
    EXPECT_EQ(*report.find("limit")->text(), c.limit) << c.name;
    EXPECT_DOUBLE_EQ(*report.find("core_wait_s")->real(), c.core_wait_s) << c.name;
  }
}

TEST(Report, MoreWorkersThanCoresAreNotOtherPrograms) {
  RunTotals totals;
  totals.elements = 1, totals.wall_ns = totals.waited_ns = 10'000'000'000;
  totals.workers = 8, totals.cores = 2;
  Counters counters(0);
  counters.busy_ns.add(19'000'000'000), counters.core_wait_ns.add(60'000'000'000);
  EXPECT_TRUE(make_report(totals, {&counters}, {}, {}).find("limit")->text()->starts_with("CPU: "));
}

}  // namespace
}  // namespace headrace
