#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "headrace/core/random/alias_table.h"
#include "headrace/core/random/choices.h"
#include "headrace/core/random/key.h"
#include "headrace/core/random/weighted_order.h"

namespace headrace {
namespace {

TEST(AliasTable, DrawsInTheProportionsOfTheWeights) {
  const std::vector<double> weights{0.5, 0, 3, 1.25, 0.25};
  const AliasTable table = *AliasTable::make(weights);
  std::vector<double> count(weights.size());
  constexpr uint32_t kDraws = 200'000;
  for (uint32_t i = 0; i < kDraws; ++i) {
    const PhiloxBlock words = philox4x32({i, 0, 0, 0}, {1, 2});
    count[table.draw(word64(words, 0), word64(words, 2))] += 1.0 / kDraws;
  }
  for (size_t i = 0; i < weights.size(); ++i) EXPECT_NEAR(count[i], weights[i] / 5, 0.005) << i;
  EXPECT_EQ(count[1], 0);
}

TEST(AliasTable, RefusesWhatAreNoWeights) {
  for (const std::vector<double>& weights :
       {std::vector<double>{}, {0, 0}, {1, -1}, {1, std::nan("")}, {INFINITY}})
    EXPECT_FALSE(AliasTable::make(weights).ok());
}

TEST(MinusLog2, IsTheLogarithm) {
  for (const uint64_t u : {uint64_t{1}, uint64_t{12345}, uint64_t{1} << 63, ~uint64_t{0}, uint64_t{1} << 40})
    EXPECT_NEAR(static_cast<double>(minus_log2(u)) * 0x1p-40, 64 - std::log2(static_cast<double>(u)), 1e-7)
        << u;
}

TEST(WeightedOrder, HoldsEachOnceAndTheHeavyFirst) {
  std::vector<double> weights(100, 1);
  weights[7] = 1000, weights[3] = 0;
  uint64_t heavy_first = 0;
  for (uint64_t epoch = 0; epoch < 100; ++epoch) {
    std::vector<uint64_t> order = weighted_order(weights, 5, epoch, 100);
    heavy_first += order[0] == 7;
    std::ranges::sort(order);
    ASSERT_EQ(order.size(), 99u);
    ASSERT_TRUE(std::ranges::adjacent_find(order) == order.end());
  }
  EXPECT_GT(heavy_first, 80u);
  EXPECT_EQ(weighted_order(weights, 5, 1, 10).size(), 10u);
}

TEST(Choices, StopsLeavesOutOrBeginsAgain) {
  const std::vector<int64_t> sources{0, 1, 1, 0, 1, 0, 0};
  const std::vector<uint64_t> sizes{3, 2};
  const auto settled = [&](MixStop stop) {
    Choices choice = *Choices::make(sources, 2);
    return *choice.settle(stop, sizes);
  };
  EXPECT_EQ(settled(MixStop::first_exhausted), 4u);
  EXPECT_EQ(settled(MixStop::all_exhausted), 5u);
  EXPECT_EQ(settled(MixStop::cycle), 7u);
  EXPECT_FALSE(Choices::make(std::vector<int64_t>{0, 2}, 2).ok());
  EXPECT_FALSE(Choices::make(std::vector<int64_t>{-1}, 2).ok());
}

}  // namespace
}  // namespace headrace
