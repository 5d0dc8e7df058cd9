#include <algorithm>
#include <set>

#include "headrace/graph/file_order.h"
#include "headrace/run/streams/state_form.h"
#include "headrace/run/streams/stream.h"

namespace headrace {
namespace {

// Slots take turns of `block` elements. As in tf.data, a slot whose input has ended loses its turn, and opens
// the next input in its next turn.
class InterleaveStream final : public Stream {
 public:
  // `order`: null for that of the children.
  InterleaveStream(std::vector<StreamPtr> children, const Interleave& verb, NodePtr order)
      : children_(std::move(children)), order_(std::move(order)), block_(verb.block) {
    find_openings(0);
    slots_.assign(std::min<uint64_t>(verb.cycle, openings_.size()), kEmpty);
  }

  Pull pull(Item& out, Status& failure, uint64_t) override {
    while (next_ < openings_.size() || open_ > 0) {
      uint64_t& slot = slots_[at_];
      if (slot == kEmpty && next_ < openings_.size()) slot = openings_[next_++].reader, ++open_;
      if (slot == kEmpty) {
        end_turn();
        continue;
      }
      const Pull pulled = children_[slot]->pull_one(out, failure);
      if (pulled != Pull::end) {
        if (pulled == Pull::item && ++taken_ == block_) end_turn();
        return pulled;
      }
      slot = kEmpty, --open_;
      end_turn();
    }
    return Pull::end;
  }
  void start(uint64_t epoch, uint32_t occurrence, bool valid) override {
    begin();
    if (order_) find_openings(epoch);
    for (auto& child : children_) child->start(epoch, occurrence, valid);
  }
  void save(Cursor& cursor) const override {
    cursor.insert(cursor.end(), {at_, taken_, next_});
    for (const uint64_t slot : slots_) {
      cursor.push_back(slot == kEmpty ? 0 : slot + 1);
      if (slot != kEmpty) children_[slot]->save(cursor);
    }
  }
  void restore(CursorReader& cursor) override {
    begin();
    at_ = cursor.next(), taken_ = cursor.next(), next_ = cursor.next();
    const bool has_turn = at_ < slots_.size() || (slots_.empty() && at_ == 0);
    if (!has_turn || next_ > openings_.size() || taken_ >= block_) {
      cursor.refuse("interleave", !has_turn ? "turn" : taken_ >= block_ ? "taken" : "next");
      return begin();
    }
    for (uint64_t& slot : slots_) {
      const uint64_t child = cursor.next();
      const bool was_opened = is_among_opened(child);
      if (child > 0 && !was_opened) cursor.refuse("interleave", "input_number");
      if (!was_opened) continue;
      slot = child - 1, ++open_;
      children_[slot]->restore(cursor);
    }
  }
  void describe(StateForm& form) const override {
    form.stream("interleave");
    form.number("turn", slots_.empty() ? 0 : slots_.size() - 1);
    form.number("taken", block_ - 1);
    const uint64_t next = form.number("next", openings_.size());
    const uint64_t most = order_ ? children_.size() : next;
    std::set<uint64_t> open;
    form.list("slots", slots_.size(), false, [&](StateForm& slot) {
      const uint64_t child = slot.number("input_number", most);  // from 1; 0: the slot is empty
      if (child > 0 && !open.insert(child).second) slot.refuse("input_number", "an input of no other slot");
      if (child > 0 && child <= children_.size()) slot.child("input", *children_[child - 1]);
    });
  }
  uint64_t most_elements() const override { return sum_of_elements(children_); }
  void stages(std::vector<Stage*>& out) override {
    for (auto child = children_.rbegin(); child != children_.rend(); ++child) (*child)->stages(out);
  }
  // Open inputs, and those that will fill empty slots; the one whose turn it is comes last.
  void open_stages(std::vector<Stage*>& out) override {
    uint64_t coming = next_;
    std::vector<uint64_t> order;
    for (size_t i = 0; i < slots_.size(); ++i) {
      const uint64_t slot = slots_[(at_ + i) % slots_.size()];
      if (slot != kEmpty)
        order.push_back(slot);
      else if (coming < openings_.size())
        order.push_back(openings_[coming++].reader);
    }
    for (auto child = order.rbegin(); child != order.rend(); ++child) children_[*child]->open_stages(out);
  }
  Stage* giving() override {
    const uint64_t slot = slots_.empty() ? kEmpty : slots_[at_];
    if (slot != kEmpty) return children_[slot]->giving();
    return next_ < openings_.size() ? children_[openings_[next_].reader]->giving() : nullptr;
  }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};

  void begin() {
    std::fill(slots_.begin(), slots_.end(), kEmpty);
    at_ = taken_ = next_ = open_ = 0;
  }
  void find_openings(uint64_t epoch) {
    if (order_) {
      openings_ = openings_in(*order_, epoch);
      return;
    }
    openings_.resize(children_.size());
    for (size_t i = 0; i < openings_.size(); ++i) openings_[i].reader = static_cast<uint32_t>(i);
  }
  // `child`: from 1.
  bool is_among_opened(uint64_t child) const {
    const auto end = openings_.begin() + static_cast<std::ptrdiff_t>(next_);
    return std::find_if(openings_.begin(), end,
                        [&](const OpenedReader& one) { return one.reader + 1 == child; }) != end;
  }
  void end_turn() { at_ = (at_ + 1) % slots_.size(), taken_ = 0; }

  std::vector<StreamPtr> children_;
  NodePtr order_;
  std::vector<OpenedReader> openings_;  // of this epoch: the children, in their order
  std::vector<uint64_t> slots_;         // the child in each
  uint64_t block_;
  uint64_t at_ = 0, taken_ = 0;  // the slot whose turn it is, and elements it gave in this turn
  uint64_t next_ = 0;            // opening that comes next
  uint64_t open_ = 0;            // slots with an open child
};

}  // namespace

StreamPtr interleave_stream(std::vector<StreamPtr> children, const Interleave& interleave,
                            const NodePtr& order) {
  return std::make_unique<InterleaveStream>(std::move(children), interleave,
                                            interleave.ordered ? order : nullptr);
}

}  // namespace headrace
