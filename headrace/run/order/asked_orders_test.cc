#include "headrace/run/order/asked_orders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headrace/headrace.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<int64_t> turned(uint64_t epoch) {
  const auto shift = static_cast<int64_t>(epoch);
  return {shift % 4, (shift + 1) % 4, (shift + 2) % 4, (shift + 3) % 4};
}

std::vector<int64_t> epoch_of(Loader& loader) {
  std::vector<int64_t> out;
  Sample sample;
  for (auto more = loader.next(sample); more.ok() && *more; more = loader.next(sample))
    out.push_back(sample.fields[0].view().as<int64_t>()[0]);
  EXPECT_TRUE(loader.begin().ok());
  return out;
}

TEST(Reorder, HasThePositionsOfEachEpoch) {
  auto loader = range(0, 4).reorder(turned, 4).loader();
  ASSERT_TRUE(loader.ok());
  EXPECT_THAT(epoch_of(**loader), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(epoch_of(**loader), ElementsAre(1, 2, 3, 0));
}

TEST(Reorder, PassesOfARepeatAreEpochs) {
  auto loader = range(0, 4).reorder(turned, 4).repeat(2).loader();
  ASSERT_TRUE(loader.ok());
  EXPECT_THAT(epoch_of(**loader), ElementsAre(0, 1, 2, 3, 1, 2, 3, 0));
  EXPECT_THAT(epoch_of(**loader), ElementsAre(2, 3, 0, 1, 3, 0, 1, 2));
}

TEST(Reorder, WrongPositionsAreAnErrorWhenTheEpochBegins) {
  auto loader = range(0, 4).reorder([](uint64_t) { return std::vector<int64_t>{4}; }, 1).loader();
  ASSERT_TRUE(loader.ok());
  EXPECT_THAT(std::string((*loader)->begin().text()), HasSubstr("got 4 at position 0 for epoch 0"));
}

TEST(Reorder, EpochsThatAreHeldStay) {
  const Dataset data = range(0, 4).reorder(turned, 4);
  auto asked = AskedOrders::of(**data.node());
  ASSERT_TRUE(asked.ok());
  const auto first = (*asked)->ask(0);
  ASSERT_TRUE(first.ok());
  for (uint64_t epoch = 1; epoch < 6; ++epoch) ASSERT_TRUE((*asked)->ask(epoch).ok());
  const EpochOrder* order = (*data.node())->as<Reorder>()->order.get();
  EXPECT_THAT((*asked)->positions(order, 0).at, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT((*asked)->positions(order, 5).at, ElementsAre(1, 2, 3, 0));
  EXPECT_NE((*first)->digest, (*(*asked)->ask(5))->digest);
}

}  // namespace
}  // namespace headrace
