#include "headrace/run/one_child.h"

namespace headrace {
namespace {

// Samples whose last value, a bool, says whether to go on.
class TakeWhileStream final : public OneChild {
 public:
  using OneChild::OneChild;

  Pull pull(Item& out, Status& failure) override {
    if (ended_) return Pull::end;
    const Pull pulled = child_->pull(out, failure);
    if (pulled != Pull::item) return pulled;
    Sample& sample = out.samples[0];
    if (sample.failure) return pulled;  // on_error("skip") further on answers it
    ended_ = !*sample.fields.back().view().as<bool>();
    sample.fields.pop_back();
    return ended_ ? Pull::end : Pull::item;
  }
  void start(uint64_t epoch, uint32_t occurrence) override {
    ended_ = false;
    child_->start(epoch, occurrence);
  }
  void save(Cursor& cursor) const override { cursor.push_back(ended_), child_->save(cursor); }
  void restore(CursorReader& cursor) override {
    ended_ = cursor.next() != 0;
    child_->restore(cursor);
  }
  bool has_taken_all() const override { return ended_; }

 private:
  bool ended_ = false;
};

}  // namespace

StreamPtr take_while_stream(StreamPtr child) { return std::make_unique<TakeWhileStream>(std::move(child)); }

}  // namespace headrace
