#include "headrace/graph/notes.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

// Rows 0 to 3 in one block, 4 and 5 in the next.
class TwoBlocks final : public Source {
 public:
  const Schema& schema() const override { return schema_; }
  uint64_t size() const override { return 6; }
  Place place(uint64_t index) const override { return {index / 4, index % 4}; }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t) const override { return nullptr; }
  std::string where(uint64_t index) const override { return "t.arrow, row " + std::to_string(index); }
  Value describe() const override { return {}; }
  std::string fingerprint() const override { return "two blocks"; }

 private:
  Schema schema_ = Schema::of({"value"}, {{DType::i64, {}}});
};

TEST(Notes, AGlobalShuffleOverBlocksOfManySamplesReadsThemAgainAndAgain) {
  const NodePtr read = *make_node(Read{std::make_shared<TwoBlocks>()}, {});
  const auto noted = [&](Shuffle shuffle) { return notes(*make_node(shuffle, {read})); };
  ASSERT_EQ(noted({.seed = 3}).size(), 1u);
  EXPECT_EQ(
      noted({.seed = 3})[0],
      "shuffle permutes all samples, and a block of this data holds many (the first, at t.arrow, row 0, "
      "4): most samples read and open a whole block for themselves alone; shuffle(blocks=) opens each "
      "once, and shuffle(window=) reads them in order");
  EXPECT_TRUE(noted({.seed = 3, .window = 4}).empty());
  EXPECT_TRUE(noted({.seed = 3, .blocks = 1}).empty());
}

}  // namespace
}  // namespace headrace
