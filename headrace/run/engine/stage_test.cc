#include "headrace/run/engine/stage.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

// A stream whose next item depends on work that ends at any time.
class Turns final : public Stream {
 public:
  Pull pull(Item&, Status&, uint64_t) override {
    ++pulled_;
    return Pull::item;
  }
  void start(uint64_t, uint32_t, bool) override {}
  void save(Cursor& cursor) const override {
    if (!under_way_) cursor.push_back(pulled_);
  }
  void restore(CursorReader&) override {}
  void describe(StateForm&) const override {}
  void stages(std::vector<Stage*>&) override {}

  void set_under_way(bool is_under_way) { under_way_ = is_under_way; }
  uint64_t pulled() const { return pulled_; }

 private:
  bool under_way_ = false;
  uint64_t pulled_ = 0;
};

class NoWork final : public Body {
 public:
  RowStatus run(Ticket&, Part&, Evaluator&) const override { return {}; }
};

TEST(Stage, TakesNoItemWhosePlaceWasNotKnown) {
  auto feeder = std::make_unique<Turns>();
  Turns& turns = *feeder;
  Stage stage(std::move(feeder), std::make_unique<NoWork>());
  const auto pool = Pool::make(size_t{1} << 20);
  turns.set_under_way(true);
  EXPECT_EQ(stage.admit(4, *pool, 0), Stage::Admitted::no) << "the work may end between save() and pull()";
  EXPECT_EQ(turns.pulled(), 0u);
  turns.set_under_way(false);
  EXPECT_EQ(stage.admit(4, *pool, 0), Stage::Admitted::yes);
  EXPECT_EQ(turns.pulled(), 1u);
}

}  // namespace
}  // namespace headrace
