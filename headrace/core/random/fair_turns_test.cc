#include "headrace/core/random/fair_turns.h"

#include <gtest/gtest.h>

#include <numeric>

namespace headrace {
namespace {

using Shares = std::vector<uint32_t>;

TEST(Shares, AreTheSmallestThatAreExact) {
  const auto shares = [](std::vector<double> weights) { return shares_of(weights); };
  EXPECT_EQ(shares({1, 1}), (Shares{1, 1}));
  EXPECT_EQ(shares({0.7, 0.3}), (Shares{7, 3}));
  EXPECT_EQ(shares({1.0 / 3, 2.0 / 3}), (Shares{1, 2}));
  EXPECT_EQ(shares({300, 200, 0}), (Shares{3, 2, 0}));
  EXPECT_EQ(shares({5}), (Shares{1}));
}

TEST(Shares, OfOddWeightsAreNearest) {
  const Shares shares = shares_of(std::vector<double>{3.14159265358979, 2.71828182845904, 1.41421356237309});
  EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), 0u), 65521u);
  EXPECT_NEAR(shares[0] / 65521.0, 3.14159265 / 7.27408804, 1e-5);
  EXPECT_TRUE(shares_of(std::vector<double>{3.14159265358979, 1e-9}).empty());
}

class FairTurnsOf : public ::testing::TestWithParam<Shares> {};
INSTANTIATE_TEST_SUITE_P(Some, FairTurnsOf,
                         ::testing::Values(Shares{1}, Shares{1, 1}, Shares{1, 1, 1}, Shares{3, 1},
                                           Shares{7, 3}, Shares{0, 2, 1},
                                           Shares{90, 1, 1, 1, 1, 1, 1, 1, 1, 1}, Shares{500, 333, 166, 1},
                                           Shares{1, 1, 1, 1, 1, 1, 1, 1}));

TEST_P(FairTurnsOf, KeepEverySourceWithinOneTurn) {
  const Shares& shares = GetParam();
  const uint64_t period = std::accumulate(shares.begin(), shares.end(), uint64_t{0});
  const FairTurns turns(shares, 17, 0);
  std::vector<uint64_t> count(shares.size());
  for (uint64_t p = 0; p < 5 * period + 7; ++p) {
    const auto turn = turns.at(p);
    ASSERT_EQ(turn.before, count[turn.source]++) << p;
    ASSERT_EQ(turns.position_of(turn.source, turn.before), p);
    for (uint32_t i = 0; i < shares.size(); ++i) {
      const uint64_t least = (p + 1) * shares[i] / period;
      ASSERT_GE(count[i], least) << p << " " << i;
      ASSERT_LE(count[i], least + ((p + 1) * shares[i] % period != 0)) << p << " " << i;
      ASSERT_EQ(turns.taken(i, p + 1), count[i]);
    }
  }
}

TEST(FairTurns, ShowEverySourceToEveryStride) {
  const FairTurns turns({1, 1}, 17, 0);
  for (const uint64_t world : {2u, 4u, 64u, 1000u})
    for (uint64_t rank = 0; rank < std::min<uint64_t>(world, 8); ++rank) {
      uint64_t first = 0;
      for (uint64_t p = 0; p < 1000; ++p) first += turns.at(p * world + rank).source == 0;
      EXPECT_GT(first, 400u) << rank << " of " << world;
      EXPECT_LT(first, 600u) << rank << " of " << world;
    }
}

TEST(FairTurns, OfAnotherSeedOrPieceAreOthers) {
  const auto order = [](uint64_t seed, uint32_t piece) {
    const FairTurns turns({2, 1, 1}, seed, piece);
    std::string out;
    for (uint64_t p = 0; p < 40; ++p) out += static_cast<char>('a' + turns.at(p).source);
    return out;
  };
  EXPECT_EQ(order(1, 0), order(1, 0));
  EXPECT_NE(order(1, 0), order(2, 0));
  EXPECT_NE(order(1, 0), order(1, 1));
}

}  // namespace
}  // namespace headrace
