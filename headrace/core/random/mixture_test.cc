#include "headrace/core/random/mixture.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

Mixture make(std::vector<MixWeights> schedule) { return *Mixture::make(std::move(schedule), 5); }

// Sources and indices of all positions, as "a0 b0 a1 …".
std::string order(const Mixture& mixture, uint64_t total) {
  std::string out;
  for (uint64_t p = 0; p < total; ++p) {
    const auto turn = mixture.at(p);
    out += (p > 0 ? " " : "") + std::string(1, static_cast<char>('a' + turn.source)) +
           std::to_string(turn.index);
  }
  return out;
}

TEST(Mixture, EndsWithTheFirstSource) {
  Mixture mixture = make({{0, {1, 1}}});
  const std::vector<uint64_t> sizes{3, 5};
  const uint64_t total = mixture.settle(MixStop::first_exhausted, sizes);
  EXPECT_TRUE(total == 6 || total == 7) << total;  // the fourth of source a would be there
  EXPECT_EQ(mixture.at(total).source, 0u);
  EXPECT_EQ(mixture.at(total).index, 3u);
}

TEST(Mixture, OfAllSourcesHoldsEachElementOnce) {
  Mixture mixture = make({{0, {3, 1, 2}}, {10, {1, 1, 1}}});
  const std::vector<uint64_t> sizes{20, 7, 3};
  ASSERT_EQ(mixture.settle(MixStop::all_exhausted, sizes), 30u);
  std::vector<uint64_t> count(3);
  for (uint64_t p = 0; p < 30; ++p) {
    const auto turn = mixture.at(p);
    EXPECT_EQ(turn.index, count[turn.source]++) << p;
  }
  EXPECT_EQ(count, sizes);
}

TEST(Mixture, SaysTheSameWhenEndsAreToldAsTheyCome) {
  const std::vector<MixWeights> schedule{{0, {3, 1, 2}}, {10, {1, 0, 1}}, {14, {1, 5, 1}}};
  Mixture settled = make(schedule), told = make(schedule);
  const std::vector<uint64_t> sizes{20, 7, 3};
  const uint64_t total = settled.settle(MixStop::all_exhausted, sizes);
  std::string as_told;
  uint64_t p = 0;
  for (; told.has(p); ++p) {
    while (told.has(p) && told.at(p).index == sizes[told.at(p).source]) told.leave_out(told.at(p).source, p);
    if (!told.has(p)) break;
    const auto turn = told.at(p);
    as_told += (p > 0 ? " " : "") + std::string(1, static_cast<char>('a' + turn.source)) +
               std::to_string(turn.index);
  }
  EXPECT_EQ(p, total);
  EXPECT_EQ(as_told, order(settled, total));
}

TEST(Mixture, GoesRoundUntilAllWereThrough) {
  Mixture mixture = make({{0, {1, 1}}});
  const std::vector<uint64_t> sizes{3, 5};
  const uint64_t total = mixture.settle(MixStop::cycle, sizes);
  EXPECT_EQ(mixture.at(total).source, 1u);
  EXPECT_EQ(mixture.at(total).index, 5u);
}

TEST(Mixture, FollowsItsSchedule) {
  Mixture mixture = make({{0, {1, 0}}, {4, {0, 1}}, {6, {1, 1}}});
  EXPECT_EQ(order(mixture, 6), "a0 a1 a2 a3 b0 b1");
  EXPECT_EQ(mixture.position_of(1, 1), 5u);
  EXPECT_GE(mixture.position_of(1, 2), 6u);
}

TEST(Mixture, OfEndlessSourcesHasNoEnd) {
  Mixture mixture = make({{0, {1, 1}}});
  const std::vector<uint64_t> sizes{Mixture::kEndless, 5};
  EXPECT_LT(make({{0, {1, 1}}}).settle(MixStop::first_exhausted, sizes), 12u);
  EXPECT_EQ(mixture.settle(MixStop::all_exhausted, sizes), Mixture::kEndless);
  EXPECT_EQ(mixture.at(uint64_t{1} << 60).source, 0u);
}

TEST(Mixture, RefusesWhatMakesNoSense) {
  const auto refuses = [](std::vector<MixWeights> schedule) {
    return std::string(Mixture::make(std::move(schedule), 0).status().text());
  };
  EXPECT_NE(refuses({{0, {1, -1}}}).find("at least 0"), std::string::npos);
  EXPECT_NE(refuses({{0, {0, 0}}}).find("above 0"), std::string::npos);
  EXPECT_NE(refuses({{5, {1, 1}}}).find("begin at position 0"), std::string::npos);
  EXPECT_NE(refuses({{0, {1, 1}}, {0, {1, 2}}}).find("ascend"), std::string::npos);
  EXPECT_NE(refuses({{0, {1, 1e-9}}}).find("65521"), std::string::npos);
}

}  // namespace
}  // namespace headrace
