#include "headrace/graph/file_order.h"

#include <gmock/gmock.h>

#include <set>
#include <vector>

#include "headrace/graph/node.h"
#include "headrace/headrace.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

const std::vector<int64_t> kSizes{4, 2, 3, 5, 1};

std::vector<Dataset> readers() {
  std::vector<Dataset> out;
  for (size_t i = 0; i < kSizes.size(); ++i) {
    const auto first = static_cast<int64_t>(100 * i);
    out.push_back(range(first, first + kSizes[i]));
  }
  return out;
}

Dataset numbers() { return range(static_cast<int64_t>(kSizes.size())); }

const Node& order_of(const Dataset& interleaved) { return *(*interleaved.node())->inputs.back(); }

std::vector<uint32_t> opened(const Dataset& interleaved, uint64_t epoch) {
  std::vector<uint32_t> out;
  for (const OpenedReader& one : openings_in(order_of(interleaved), epoch)) out.push_back(one.reader);
  return out;
}

std::vector<uint64_t> totals() { return {kSizes.begin(), kSizes.end()}; }

TEST(FileOrder, FollowsTheEpoch) {
  const Dataset files = interleave(readers(), numbers().shuffle({.seed = 3}));
  ASSERT_TRUE(files.node().ok()) << files.node().status().text();
  std::set<std::vector<uint32_t>> orders;
  for (uint64_t epoch = 0; epoch < 4; ++epoch) {
    EXPECT_THAT(opened(files, epoch), UnorderedElementsAre(0, 1, 2, 3, 4));
    orders.insert(opened(files, epoch));
  }
  EXPECT_EQ(orders.size(), 4u);
  EXPECT_TRUE((*files.node())->indexed);
  EXPECT_EQ((*files.node())->size, 15u);
}

TEST(FileOrder, DealsWholeFilesAndEvensOutSamples) {
  for (const Even even : {Even::wrap, Even::drop, Even::pad})
    for (uint64_t epoch = 0; epoch < 3; ++epoch) {
      std::multiset<uint32_t> all;
      std::set<uint64_t> steps;
      uint64_t own = 0;
      for (uint32_t rank = 0; rank < 3; ++rank) {
        const Dataset files = interleave(
            readers(), numbers().shuffle({.seed = 3}).shard({.rank = rank, .world = 3, .even = even}));
        ASSERT_TRUE(files.node().ok()) << files.node().status().text();
        EXPECT_FALSE((*files.node())->indexed);
        EXPECT_FALSE((*files.node())->size.has_value());
        for (const uint32_t one : opened(files, epoch)) all.insert(one);
        const auto share = share_in(order_of(files), totals(), epoch);
        ASSERT_TRUE(share.ok());
        EXPECT_EQ(size_in_epoch(*files.node(), epoch), share->steps);
        EXPECT_EQ(share->all, 15u);
        steps.insert(share->steps), own += share->own;
      }
      EXPECT_THAT(all, ElementsAre(0, 1, 2, 3, 4));
      EXPECT_EQ(steps.size(), 1u);
      EXPECT_EQ(own, 15u);
    }
}

TEST(FileOrder, AFixedOrderIsAPartOfTheFiles) {
  const Dataset strided = interleave(readers(), numbers().shard({.rank = 1, .world = 2}));
  EXPECT_THAT(opened(strided, 7), ElementsAre(1, 3));
  EXPECT_TRUE((*strided.node())->indexed);
  EXPECT_EQ((*strided.node())->size, 8u);  // the other rank's 4 + 3 + 1, as this one has 2 + 5
  const Dataset run = interleave(
      readers(),
      numbers().shard({.rank = 0, .world = 2, .even = Even::drop, .fixed = true, .contiguous = true}));
  EXPECT_THAT(opened(run, 7), ElementsAre(0, 1, 2));
  EXPECT_EQ((*run.node())->size, 6u);
}

TEST(FileOrder, AnEpochOfBatchesHasALength) {
  const Dataset files =
      interleave(readers(), numbers().shuffle({.seed = 3}).shard({.rank = 1, .world = 2})).batch(2).repeat(2);
  uint64_t both = 0;
  for (const uint64_t epoch : {6, 7}) {
    const auto share = share_in(*(*files.node())->input()->input()->inputs.back(), totals(), epoch);
    both += (share->steps + 1) / 2;
  }
  EXPECT_EQ(size_in_epoch(*files.node(), 3), both);
}

TEST(FileOrder, IsKeptByAPlan) {
  const Dataset files = interleave(readers(), numbers().shuffle({.seed = 3}).shard({.rank = 1, .world = 2}));
  const auto again = load_plan(*files.plan());
  ASSERT_TRUE(again.ok()) << again.status().text();
  EXPECT_EQ(opened(again->dataset, 5), opened(files, 5));
}

TEST(FileOrder, RefusesWhatHasNoOrder) {
  const auto error = [](const Dataset& dataset) { return std::string(dataset.node().status().text()); };
  EXPECT_THAT(error(interleave(readers(), range(4).shuffle({.seed = 1}))),
              HasSubstr("an order of 5 readers"));
  EXPECT_THAT(error(interleave(readers(), numbers().batch(2))), HasSubstr("got batch"));
  EXPECT_THAT(error(interleave(readers(), numbers().repeat())),
              HasSubstr("an order of the readers that ends"));
  EXPECT_THAT(error(interleave(readers(), numbers().shard({.rank = 0, .world = 6}))),
              HasSubstr("files for each of 6 ranks"));
}

}  // namespace
}  // namespace headrace
