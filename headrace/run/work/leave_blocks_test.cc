#include "headrace/run/work/leave_blocks.h"

#include <gtest/gtest.h>

#include <cstring>

namespace headrace {
namespace {

constexpr size_t kBudget = size_t{1} << 20;

// int64 values in memory of the pool.
struct Group {
  Group(Pool& pool, size_t count) {
    const MutableBufferPtr made = pool.take(count * sizeof(int64_t), Use::encoded);
    for (size_t i = 0; i < count; ++i) {
      const auto value = static_cast<int64_t>(i);
      std::memcpy(made->mutable_data() + i * sizeof value, &value, sizeof value);
    }
    buffer = made;
  }
  Tensor values(size_t first, size_t count) const {
    return {buffer, first * sizeof(int64_t), DType::i64, {static_cast<int64_t>(count)}, nullptr};
  }
  BufferPtr buffer;
};

TEST(LeaveBlocks, ASmallPartOfWhatWouldBeTooMuchForABatch) {
  const auto pool = Pool::make(kBudget);
  std::vector<Sample> samples(1);
  {
    const Group group(*pool, 4000);
    samples[0].fields = {group.values(100, 50), group.values(7, 1)};
  }
  ASSERT_GE(pool->ledger().in_use, 32'000u);
  ASSERT_TRUE(leave_blocks(samples, *pool).ok());
  EXPECT_LE(pool->ledger().in_use, 1024u) << "the group is gone";
  EXPECT_EQ(samples[0].fields[0].view().as<int64_t>()[49], 149);
  EXPECT_EQ(samples[0].fields[1].view().as<int64_t>()[0], 7);
}

TEST(LeaveBlocks, StayWhereThereIsRoomAndGoWhereMemoryIsShort) {
  const auto pool = Pool::make(kBudget);
  const Group group(*pool, 1000);  // less than a batch may keep
  std::vector<Sample> samples(1);
  samples[0].fields = {group.values(3, 2)};
  ASSERT_TRUE(leave_blocks(samples, *pool).ok());
  EXPECT_EQ(samples[0].fields[0].buffer, group.buffer);
  const auto others = pool->take(kBudget / 2, Use::other);
  ASSERT_TRUE(leave_blocks(samples, *pool).ok());
  EXPECT_NE(samples[0].fields[0].buffer, group.buffer);
  EXPECT_EQ(samples[0].fields[0].view().as<int64_t>()[1], 4);
}

TEST(LeaveBlocks, NotWhereCopiesWouldBeMoreThanTheBlock) {
  const auto pool = Pool::make(kBudget);
  const Group group(*pool, 40'000);
  std::vector<Sample> rows(40'000);  // of an unbatch
  for (size_t i = 0; i < rows.size(); ++i) rows[i].fields = {group.values(i, 1)};
  const size_t before = pool->ledger().in_use;
  ASSERT_TRUE(leave_blocks(rows, *pool).ok());
  EXPECT_EQ(pool->ledger().in_use, before);
}

TEST(LeaveBlocks, NotWhereAnotherFieldKeepsTheMemoryAllTheSame) {
  const auto pool = Pool::make(kBudget);
  const Group group(*pool, 40'000);
  std::vector<Sample> samples(1);
  samples[0].fields = {group.values(0, 39'000), group.values(39'999, 1)};
  ASSERT_TRUE(leave_blocks(samples, *pool).ok());
  EXPECT_EQ(samples[0].fields[1].buffer, group.buffer);
}

TEST(LeaveBlocks, WithoutRoomIsAnErrorThatIsAnsweredByTryingAgain) {
  const auto pool = Pool::make(kBudget);
  const Group group(*pool, 8000);
  const size_t rest = kBudget - pool->ledger().in_use;
  ASSERT_TRUE(pool->charge(rest, Use::other));
  std::vector<Sample> samples(1);
  samples[0].fields = {group.values(5, 1)};
  EXPECT_EQ(leave_blocks(samples, *pool).code(), Code::exhausted);
  EXPECT_EQ(samples[0].fields[0].view().as<int64_t>()[0], 5);
  pool->uncharge(rest, Use::other);
}

// Strings in two blocks, and a small part of one of them: that one is released.
TEST(LeaveBlocks, TextsOfABatch) {
  const auto pool = Pool::make(kBudget);
  std::vector<Text> texts(4);
  std::vector<TextOwner> owners;
  TextRows to(texts.data(), 0, owners);
  TextsThatLeave leaving(*pool);
  {
    const MutableBufferPtr large = pool->take(64 << 10, Use::encoded), small = pool->take(100, Use::encoded);
    std::memset(large->mutable_data(), 'l', large->size());
    std::memset(small->mutable_data(), 's', small->size());
    TextRows& rows = leaving.begin(3, to);
    rows.set(0, large, large->bytes().subspan(1000, 10));
    rows.set(1, large, large->bytes().subspan(60'000, 0));
    rows.set(2, small, small->bytes().first(50));
    leaving.leave();
    Tensor text{large, 7, DType::bytes, {5}, nullptr};
    leaving.leave(text);
    EXPECT_NE(text.buffer, large);
    EXPECT_EQ(std::to_integer<char>(text.view().bytes()[4]), 'l');
  }
  EXPECT_LE(pool->ledger().in_use, 8192u) << "the large one is gone";
  ASSERT_EQ(owners.size(), 2u);
  EXPECT_EQ(owners[1].first, 2u);
  EXPECT_EQ(texts[0].size(), 10u);
  EXPECT_EQ(std::to_integer<char>(texts[0][9]), 'l');
  EXPECT_EQ(texts[1].size(), 0u);
  EXPECT_EQ(std::to_integer<char>(texts[2][49]), 's');
}

TEST(LeaveBlocks, TextsStayWhereThereIsNoMemoryForThem) {
  const auto pool = Pool::make(64 << 10);
  const MutableBufferPtr large = pool->take(64 << 10, Use::encoded);
  std::vector<Text> texts(1);
  std::vector<TextOwner> owners;
  TextRows to(texts.data(), 0, owners);
  TextsThatLeave leaving(*pool);
  leaving.begin(1, to).set(0, large, large->bytes().first(10));
  leaving.leave();
  EXPECT_EQ(texts[0].data(), large->data());
}

}  // namespace
}  // namespace headrace
