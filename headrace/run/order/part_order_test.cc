#include "headrace/run/order/part_order.h"

#include <gmock/gmock.h>

#include <tuple>
#include <vector>

#include "headrace/headrace.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Index, occurrence and validity of the elements of a part.
using Found = std::vector<std::tuple<uint64_t, uint32_t, bool>>;

Found elements(const Shard& shard, uint64_t total) {
  std::vector<Position> at(shard_size(shard, total));
  for (size_t i = 0; i < at.size(); ++i) at[i].index = i;
  part_order(Order::leaf(0), shard, total)->locate(at);
  Found out;
  for (const Position& p : at) out.emplace_back(p.index, p.occurrence, p.valid);
  return out;
}

TEST(PartOrder, DealsOneByOneOrInRuns) {
  EXPECT_THAT(elements({.rank = 1, .world = 3, .fixed = true}, 7),
              ElementsAre(std::tuple(1, 0, true), std::tuple(4, 0, true), std::tuple(0, 1, true)));
  EXPECT_THAT(elements({.rank = 1, .world = 3, .even = Even::pad, .fixed = true, .contiguous = true}, 7),
              ElementsAre(std::tuple(3, 0, true), std::tuple(4, 0, true), std::tuple(0, 1, false)));
  EXPECT_THAT(elements({.rank = 2, .world = 3, .even = Even::drop, .fixed = true, .contiguous = true}, 7),
              ElementsAre(std::tuple(4, 0, true), std::tuple(5, 0, true)));
}

TEST(PartOrder, RanksHaveEveryElementOnce) {
  for (const Even even : {Even::wrap, Even::drop, Even::pad})
    for (const bool contiguous : {false, true})
      for (uint32_t world = 1; world <= 7; ++world)
        for (uint64_t total = 0; total <= 20; ++total) {
          std::vector<int> seen(total, 0);
          for (uint32_t rank = 0; rank < world; ++rank)
            for (const auto& [index, occurrence, valid] : elements(
                     {.rank = rank, .world = world, .even = even, .fixed = true, .contiguous = contiguous},
                     total)) {
              ASSERT_LT(index, total);
              EXPECT_EQ(valid, occurrence == 0 || even != Even::pad);
              if (occurrence == 0) ++seen[index];
            }
          const uint64_t dealt = even == Even::drop ? total - total % world : total;
          for (uint64_t i = 0; i < total; ++i) EXPECT_EQ(seen[i], i < dealt ? 1 : 0);
        }
}

TEST(PartOrder, IsAVerbOfDatasets) {
  const Dataset mine = range(9).shard({.rank = 2, .world = 4, .fixed = true}).shuffle({.seed = 1});
  ASSERT_TRUE(mine.node().ok());
  EXPECT_EQ((*mine.node())->size, 3u);
  const Dataset moving = range(9).shuffle({.seed = 1}).shard({.rank = 2, .world = 4, .fixed = true});
  ASSERT_FALSE(moving.node().ok());
  EXPECT_THAT(std::string(moving.node().status().text()), HasSubstr("before shard(fixed=True)"));
}

}  // namespace
}  // namespace headrace
