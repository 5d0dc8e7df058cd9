// assert_cardinality: counts the elements of an epoch.
#include "headrace/run/streams/one_child.h"
#include "headrace/run/streams/state_form.h"

namespace headrace {
namespace {

class CardinalityStream final : public OneChild {
 public:
  CardinalityStream(StreamPtr child, uint64_t count) : OneChild(std::move(child)), count_(count) {}
  Pull pull(Item& out, Status& failure, uint64_t most) override {
    const Pull pulled = child_->pull(out, failure, most);
    if (pulled == Pull::item) given_ += out.num_samples();
    const bool more = given_ > count_, fewer = pulled == Pull::end && given_ < count_;
    if (!more && !fewer) return pulled;
    failure = invalid({.expected = std::to_string(count_) + " elements in epoch " + std::to_string(epoch_),
                       .got = more ? "more" : std::to_string(given_),
                       .fix = "count() counts epoch 0; a shuffle before take() or a random filter gives each "
                              "epoch another number, and shard(..., steps=) needs none"})
                  .in_op("assert_cardinality");
    return Pull::error;
  }
  void start(uint64_t epoch, uint32_t occurrence, bool valid) override {
    given_ = 0, epoch_ = epoch, child_->start(epoch, occurrence, valid);
  }
  void save(Cursor& cursor) const override { cursor.push_back(given_), child_->save(cursor); }
  void restore(CursorReader& cursor) override {
    given_ = cursor.next();
    if (given_ > count_) cursor.refuse("assert_cardinality", "given");
    child_->restore(cursor);
  }
  void describe(StateForm& form) const override {
    form.stream("assert_cardinality");
    form.number("given", most_elements());
    form.child("input", *child_);
  }
  uint64_t most_elements() const override { return count_; }

 private:
  uint64_t count_, given_ = 0, epoch_ = 0;
};

}  // namespace

StreamPtr cardinality_stream(StreamPtr child, uint64_t count) {
  return std::make_unique<CardinalityStream>(std::move(child), count);
}

}  // namespace headrace
