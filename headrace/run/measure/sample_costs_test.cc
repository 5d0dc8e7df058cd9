#include "headrace/run/measure/sample_costs.h"

#include <gtest/gtest.h>

#include <numeric>

#include "headrace/formats/arrays/arrays.h"
#include "headrace/headrace.h"

namespace headrace {
namespace {

constexpr uint64_t kUs = 1'000;

uint64_t count(const SampleCosts& costs, uint64_t ns) { return costs.counts()[SampleCosts::bucket_of(ns)]; }

TEST(SampleCosts, WhatIsLeftOutCountsAsTheNextThatIsTaken) {
  SampleCosts costs;
  costs.leave_out(3), costs.leave_out(2);
  EXPECT_EQ(costs.averaged(), 5u);
  costs.add(7 * kUs, 1 + costs.take_left_out(7 * kUs));
  EXPECT_EQ(count(costs, 7 * kUs), 6u);
  costs.leave_out(4);  // counted like the last one for now
  EXPECT_EQ(count(costs, 7 * kUs), 10u);
  costs.add(20 * kUs, 1 + costs.take_left_out(20 * kUs));
  EXPECT_EQ(count(costs, 7 * kUs), 6u);
  EXPECT_EQ(count(costs, 20 * kUs), 5u);
  EXPECT_EQ(costs.averaged(), 9u);
}

TEST(SampleCosts, WhatMayBeAmongTheSlowestIsNotLeftOut) {
  SampleCosts costs;
  for (uint64_t i = 0; i < SampleCosts::kSlowest; ++i) {
    EXPECT_TRUE(costs.may_be_slow(1, 1));  // there are free places
    costs.keep({{0, i}, (10 + i) * kUs});
  }
  EXPECT_FALSE(costs.may_be_slow(10 * kUs, 1));
  EXPECT_TRUE(costs.may_be_slow(11 * kUs, 1));
  EXPECT_FALSE(costs.may_be_slow(40 * kUs, 4));
}

TEST(SampleCosts, NoPlaceIsKeptForWhatHasNoName) {
  SampleCosts costs;
  for (uint64_t i = 0; i < SampleCosts::kSlowest; ++i) costs.has_no_name();
  EXPECT_FALSE(costs.may_be_slow(40 * kUs, 1));
}

// Of elements that take a microsecond most are left out, but all are counted.
TEST(SampleCosts, OfARunAddUpToItsSamples) {
  const auto plus_one = [](const Fields& s) -> Outputs {
    return {{"x", s["value"].apply("add", {{"value", 1}})}};
  };
  for (const uint64_t batch : {1, 3, 100}) {
    LoaderOptions options;
    options.workers = 2;
    options.rewrites_off = {"all"};  // rows go through the map one by one, and have names
    auto loader = from_source(*range_source(0, 5000)).map(plus_one).batch(batch).loader(options);
    ASSERT_TRUE(loader.ok()) << loader.status().text();
    Sample element;
    while (*(*loader)->next(element)) {
    }
    const Value report = (*loader)->report();
    const Value& costs = *report.find("sample_cost");
    int64_t samples = 0;
    for (const Value& bucket : *costs.find("histogram")->list()) samples += *bucket.find("count")->integer();
    EXPECT_EQ(samples, 5000) << batch;
    EXPECT_EQ(costs.find("slowest")->list()->size(), SampleCosts::kSlowest) << batch;
  }
}

}  // namespace
}  // namespace headrace
