#include <algorithm>

#include "headrace/run/streams/one_child.h"
#include "headrace/run/streams/state_form.h"

namespace headrace {
namespace {

// Ends before the first sample whose last value, a bool, is false.
class TakeWhileStream final : public OneChild {
 public:
  using OneChild::OneChild;

  Pull pull(Item& out, Status& failure, uint64_t most) override {
    if (ended_) return Pull::end;
    const Pull pulled = child_->pull(out, failure, most);
    if (pulled != Pull::item) return pulled;
    if (!out.ranges.empty()) return cut(out);
    Sample& sample = out.samples[0];
    if (sample.failure) return pulled;  // handled by an on_error("skip") further on
    ended_ = *sample.fields.back().view().as<uint8_t>() == 0;
    sample.fields.pop_back();
    return ended_ ? Pull::end : Pull::item;
  }
  void start(uint64_t epoch, uint32_t occurrence, bool valid) override {
    ended_ = false;
    child_->start(epoch, occurrence, valid);
  }
  void save(Cursor& cursor) const override { cursor.push_back(ended_), child_->save(cursor); }
  void restore(CursorReader& cursor) override {
    ended_ = cursor.next() != 0;
    child_->restore(cursor);
  }
  void describe(StateForm& form) const override {
    form.stream("take_while");
    form.flag("has_ended");
    form.child("input", *child_);
  }
  bool has_taken_all() const override { return ended_; }

 private:
  Pull cut(Item& out) {
    uint64_t kept = 0;
    for (RowRange& range : out.ranges) {
      const uint8_t* go_on = range.rows->columns.back().view().as<uint8_t>() + range.first;
      const auto passed = static_cast<size_t>(std::find(go_on, go_on + range.count, 0) - go_on);
      const size_t count = ended_ ? 0 : passed;
      ended_ = ended_ || passed < range.count;
      range = {narrow_.of(range.rows, 1), range.first, count};
      kept += count;
    }
    std::erase_if(out.ranges, [](const RowRange& range) { return range.count == 0; });
    return kept > 0 ? Pull::item : Pull::end;
  }

  Narrowed narrow_;
  bool ended_ = false;
};

}  // namespace

StreamPtr take_while_stream(StreamPtr child) { return std::make_unique<TakeWhileStream>(std::move(child)); }

}  // namespace headrace
