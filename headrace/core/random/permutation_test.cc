#include "headrace/core/random/permutation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

namespace headrace {
namespace {

TEST(Permutation, IsOneToOneForEverySmallSize) {
  for (uint64_t n = 1; n <= 400; ++n) {
    const Permutation permute(n * 31, n % 5, n);
    std::vector<bool> seen(n);
    for (uint64_t x = 0; x < n; ++x) {
      const uint64_t y = permute(x);
      ASSERT_LT(y, n);
      ASSERT_FALSE(seen[y]) << "n " << n;
      seen[y] = true;
    }
  }
}

TEST(Permutation, ApplyEqualsTheCallOperator) {
  for (uint64_t n : {7ull, 1000ull, 1'281'167ull, 1ull << 40, (1ull << 60) + 12345}) {
    const Permutation permute(17, 3, n);
    std::vector<uint64_t> values;
    for (uint64_t i = 0; i < 1000; ++i) values.push_back(n > 1000 ? n / 1000 * i : i % n);
    auto many = values;
    permute.apply(many);
    for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(many[i], permute(values[i]));
  }
}

TEST(Permutation, AnotherSeedOrEpochIsAnotherOrder) {
  const uint64_t n = 1000;
  const Permutation a(1, 0, n), b(2, 0, n), c(1, 1, n);
  int same_b = 0, same_c = 0;
  for (uint64_t x = 0; x < n; ++x) same_b += a(x) == b(x), same_c += a(x) == c(x);
  EXPECT_LT(same_b, 10);
  EXPECT_LT(same_c, 10);
}

// All 120 orders of five elements are about equally likely over seeds (chi-square, 119 degrees of freedom).
TEST(Permutation, SmallSetsReachEveryOrderEvenly) {
  std::map<std::vector<uint64_t>, int> counts;
  const int trials = 60000;
  for (int seed = 0; seed < trials; ++seed) {
    const Permutation permute(static_cast<uint64_t>(seed), 0, 5);
    std::vector<uint64_t> order;
    for (uint64_t x = 0; x < 5; ++x) order.push_back(permute(x));
    ++counts[order];
  }
  EXPECT_EQ(counts.size(), 120u);
  double chi = 0;
  for (const auto& [order, count] : counts) chi += std::pow(count - trials / 120.0, 2) / (trials / 120.0);
  EXPECT_LT(chi, 119 + 5 * std::sqrt(2 * 119.0));
}

// Spearman's rank correlation between position and sample is no larger than by chance.
TEST(Permutation, LargeSetsAreUncorrelatedWithPosition) {
  const uint64_t n = 100000;
  const Permutation permute(3, 0, n);
  double sum = 0;
  for (uint64_t x = 0; x < n; ++x) {
    const double d = static_cast<double>(x) - static_cast<double>(permute(x));
    sum += d * d;
  }
  const double rho =
      1 - 6 * sum / (static_cast<double>(n) * (static_cast<double>(n) * static_cast<double>(n) - 1));
  EXPECT_LT(std::fabs(rho), 5 / std::sqrt(static_cast<double>(n)));
}

}  // namespace
}  // namespace headrace
