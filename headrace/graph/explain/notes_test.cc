#include "headrace/graph/explain/notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Rows 0 to 3 in one block, 4 and 5 in the next.
class TwoBlocks final : public Source {
 public:
  const Schema& schema() const override { return schema_; }
  uint64_t size() const override { return 6; }
  Place place(uint64_t index) const override { return {index / 4, index % 4}; }
  std::unique_ptr<Opening<BlockPtr>> open(uint64_t) const override { return nullptr; }
  SamplePlace where(uint64_t index) const override {
    return {"t.arrow", ", row " + std::to_string(index), index};
  }
  Value describe() const override { return {}; }
  std::string fingerprint() const override { return "two blocks"; }

 private:
  Schema schema_ = Schema::of({"value"}, {{DType::i64, {}}});
};

TEST(Notes, AGlobalShuffleOverBlocksOfManySamplesReadsThemAgainAndAgain) {
  const NodePtr read = *make_node(Read{std::make_shared<TwoBlocks>()}, {});
  const ElementSizes sizes{{read.get(), {1000, 6}}};  // 3 kB per block, on average
  const auto noted = [&](Shuffle shuffle, double bytes, ElementSizes known) {
    return notes(*make_node(shuffle, {read}), {bytes, std::move(known)});
  };
  const std::string amplified =
      "shuffle permutes all samples, and each block of this data holds many (the first, at t.arrow, row 0, "
      "holds 4): 1 of 2 blocks stay in memory (6.0 kB, half of the budget), so about 50 of 100 samples each "
      "read and open a whole block; shuffle(blocks=) opens each block once, shuffle(window=) reads blocks "
      "in order";
  EXPECT_THAT(noted({.seed = 3}, 5999, sizes), ElementsAre(amplified));
  EXPECT_THAT(noted({.seed = 3, .window = 4}, 3000, sizes), IsEmpty());
  EXPECT_THAT(noted({.seed = 3, .blocks = 1}, 3000, sizes), IsEmpty());
  // Blocks that are kept are opened once.
  EXPECT_THAT(noted({.seed = 3}, 6000, sizes), IsEmpty());
  EXPECT_THAT(warnings(*make_node(Shuffle{.seed = 3}, {read}), {5999, sizes}), ElementsAre(amplified));
  EXPECT_THAT(warnings(*make_node(Shuffle{.seed = 3}, {read}), {6000, sizes}), IsEmpty());
  EXPECT_THAT(warnings(*make_node(Shuffle{.seed = 3}, {read}), {5999, {}}), IsEmpty());
  // How many stay is unknown where the size of a block is unknown.
  EXPECT_THAT(noted({.seed = 3}, 6000, {}),
              ElementsAre(HasSubstr("unless all blocks fit in 6.0 kB of memory, most samples each read and "
                                    "open a whole block")));
}

TEST(Notes, BlocksThatAreMixedMayNotFit) {
  const NodePtr read = *make_node(Read{std::make_shared<TwoBlocks>()}, {});
  const auto noted = [&](uint64_t blocks, double bytes) {
    return notes(*make_node(Shuffle{.seed = 3, .blocks = blocks}, {read}),
                 {bytes, {{read.get(), {1000, 6}}}});
  };
  EXPECT_THAT(noted(1, 3000), IsEmpty());
  EXPECT_THAT(noted(9, 6000), IsEmpty());
  EXPECT_THAT(
      noted(9, 5000),
      ElementsAre("shuffle mixes 2 blocks of about 3.0 kB (the first, at t.arrow, row 0, holds 4 "
                  "samples), which exceeds 5.0 kB, half of the memory budget: some blocks are read and "
                  "opened repeatedly; with fewer blocks= or a larger memory_budget= each is opened once"));
}

}  // namespace
}  // namespace headrace
