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
  std::string where(uint64_t index) const override { return "t.arrow, row " + std::to_string(index); }
  Value describe() const override { return {}; }
  std::string fingerprint() const override { return "two blocks"; }

 private:
  Schema schema_ = Schema::of({"value"}, {{DType::i64, {}}});
};

TEST(Notes, AGlobalShuffleOverBlocksOfManySamplesReadsThemAgainAndAgain) {
  const NodePtr read = *make_node(Read{std::make_shared<TwoBlocks>()}, {});
  const ElementSizes sizes{{read.get(), {1000, 6}}};  // 3 kB a block, on average
  const auto noted = [&](Shuffle shuffle, double bytes, ElementSizes known) {
    return notes(*make_node(shuffle, {read}), {bytes, std::move(known)});
  };
  const std::string told =
      "shuffle permutes all samples, and a block of this data holds many (the first, at t.arrow, row 0, "
      "4): of 2 blocks 1 stay in memory (6.0 kB, half of the budget), so that about 50 of 100 samples read "
      "and open a whole block for themselves alone; shuffle(blocks=) opens each once, and shuffle(window=) "
      "reads them in order";
  EXPECT_THAT(noted({.seed = 3}, 5999, sizes), ElementsAre(told));
  EXPECT_THAT(noted({.seed = 3, .window = 4}, 3000, sizes), IsEmpty());
  EXPECT_THAT(noted({.seed = 3, .blocks = 1}, 3000, sizes), IsEmpty());
  // What is kept is opened once.
  EXPECT_THAT(noted({.seed = 3}, 6000, sizes), IsEmpty());
  EXPECT_THAT(warnings(*make_node(Shuffle{.seed = 3}, {read}), {5999, sizes}), ElementsAre(told));
  EXPECT_THAT(warnings(*make_node(Shuffle{.seed = 3}, {read}), {6000, sizes}), IsEmpty());
  EXPECT_THAT(warnings(*make_node(Shuffle{.seed = 3}, {read}), {5999, {}}), IsEmpty());
  // How many stay cannot be said where nobody knows how large they are.
  EXPECT_THAT(noted({.seed = 3}, 6000, {}),
              ElementsAre(HasSubstr("unless all blocks stay in memory, of which they may have 6.0 kB, most "
                                    "samples read and open a whole block for themselves alone")));
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
                  "samples), and they may have 5.0 kB, half of the memory budget: some are read and "
                  "opened again and again; fewer blocks= or a larger memory_budget= opens each once"));
}

}  // namespace
}  // namespace headrace
