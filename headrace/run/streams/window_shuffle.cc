#include <algorithm>
#include <utility>

#include "headrace/core/random/key.h"
#include "headrace/core/saturate.h"
#include "headrace/run/streams/one_child.h"
#include "headrace/run/streams/state_form.h"

namespace headrace {
namespace {

constexpr uint64_t kNone = ~uint64_t{0};
constexpr uint64_t kAtOnce = 256;
constexpr uint64_t kMostDraws = uint64_t{1} << 40;  // more would take hours to replay
constexpr uint64_t kDrawsBetweenLooks = uint64_t{1} << 16;
constexpr std::string_view kVerb = "shuffle";

// A reservoir of `window` elements: hand out a random one, put the next in its place; when there is no next,
// move the last element there. Which input is in which slot depends only on the draws, so the state is counts
// and the position of the oldest held element (or of the first one pulled with it); loading it replays the
// draws without data and reads only held elements.
class WindowShuffleStream final : public OneChild {
 public:
  WindowShuffleStream(StreamPtr child, const Shuffle& shuffle)
      : OneChild(std::move(child)), shuffle_(shuffle), window_(shuffle.window) {}

  Pull pull(Item& out, Status& failure, uint64_t most) override {
    out = {};
    for (uint64_t n = 0; n < most; ++n) {
      Pull ready = replay(failure);
      if (ready == Pull::item) ready = fill(failure);
      if (ready == Pull::item && slots_.empty()) ready = Pull::end;
      if (ready != Pull::item) return n > 0 ? Pull::item : ready;
      hole_ = draw(emitted_++, slots_.size());
      if (hole_ == oldest_) oldest_ = kNone;
      give(slots_[hole_], out);
    }
    return Pull::item;
  }

  void start(uint64_t epoch, uint32_t occurrence, bool valid) override {
    k1_ = Key::k1(shuffle_.seed, 0, 0, shuffle_.epoch_of_order(epoch));
    slots_.clear(), pending_.reset(), left_ = 0;
    emitted_ = pulled_ = replay_next_ = 0, ended_ = false, hole_ = oldest_ = kNone;
    child_->start(epoch, occurrence, valid);
  }

  void save(Cursor& cursor) const override {
    if (replay_next_ < pulled_) {  // nothing was handed out since restore()
      cursor.insert(cursor.end(), restored_.begin(), restored_.end());
      return;
    }
    const Slot* oldest = find_oldest();
    const Pulled* from = oldest ? oldest->pulled.get() : left_ > 0 ? pending_.get() : nullptr;
    cursor.insert(cursor.end(), {emitted_, pulled_, ended_, from ? from->ordinal : pulled_});
    if (from)
      cursor.insert(cursor.end(), from->before.begin(), from->before.end());
    else
      child_->save(cursor);
  }

  void restore(CursorReader& cursor) override {
    emitted_ = cursor.next(), pulled_ = cursor.next(), ended_ = cursor.next() != 0,
    replay_next_ = cursor.next();
    child_->restore(cursor);
    pending_.reset(), left_ = 0;
    const uint64_t most = child_->most_elements();
    std::string_view wrong;
    if (emitted_ > pulled_ || emitted_ > kMostDraws) wrong = "emitted";
    if (pulled_ - emitted_ > window_ || pulled_ > most) wrong = "pulled";
    if (replay_next_ > pulled_) wrong = "read_from";
    if (!wrong.empty()) {
      cursor.refuse(kVerb, wrong);
      emitted_ = pulled_ = replay_next_ = 0;
      return;
    }
    restored_ = {emitted_, pulled_, ended_, replay_next_};
    child_->save(restored_);
    if (!draw_again(cursor))
      cursor.refuse(kVerb, "emitted");
    else if (!read_only_what_is_held())
      cursor.refuse(kVerb, "read_from");
  }
  void describe(StateForm& form) const override {
    form.stream(kVerb);
    const uint64_t most = child_->most_elements();
    const uint64_t emitted = form.number("emitted", std::min(most, kMostDraws));
    const uint64_t pulled = form.number("pulled", std::min(most, saturating_add(emitted, window_)), emitted);
    form.flag("has_ended");
    form.number("read_from", pulled);
    form.child("input", *child_);
  }

 private:
  // An item of the child, the position before it, and the ordinal of its first element.
  struct Pulled {
    Item item;
    Cursor before;
    uint64_t ordinal = 0;
  };
  // A sample of an item: row `at` of a range, or without ranges, a single sample.
  struct Slot {
    std::shared_ptr<Pulled> pulled;
    uint64_t ordinal = 0;
    uint32_t range = 0, at = 0;
  };

  uint64_t draw(uint64_t emitted, uint64_t n) const {
    return static_cast<uint64_t>(Key(k1_, emitted, 0, 0).below(0, static_cast<int64_t>(n)));
  }

  // Replays the draws so far, over ordinals only. False if it was stopped.
  bool draw_again(const CursorReader& cursor) {
    uint64_t next = 0;
    hole_ = oldest_ = kNone;
    slots_.clear();
    for (uint64_t e = 0; e <= emitted_; ++e) {
      if (e % kDrawsBetweenLooks == 0 && cursor.is_stopped()) return false;
      for (; slots_.size() < window_ && hole_ == kNone && next < pulled_; ++next)
        slots_.push_back({nullptr, next});
      if (hole_ != kNone && next < pulled_)
        slots_[hole_].ordinal = next++, hole_ = kNone;
      else if (hole_ != kNone && e < emitted_)
        close_ranks();
      if (e < emitted_ && !slots_.empty()) hole_ = draw(e, slots_.size());
    }
    return true;
  }

  // Elements handed out since the oldest held one came in are not made again, if the child supports that.
  // False if a held element came in before the oldest.
  bool read_only_what_is_held() {
    to_replay_.clear(), replayed_ = 0;
    for (size_t i = 0; i < slots_.size(); ++i)
      if (i != hole_) to_replay_.push_back({slots_[i].ordinal, i});
    std::ranges::sort(to_replay_);
    if (!to_replay_.empty() && to_replay_[0].first < replay_next_) return false;
    std::vector<Gap> handed_out;
    uint64_t next = replay_next_;
    const auto is_held_at = [&](uint64_t ordinal) {
      if (ordinal > next) handed_out.push_back({next - replay_next_, ordinal - next});
      next = ordinal + 1;
    };
    for (const auto& [ordinal, slot] : to_replay_) is_held_at(ordinal);
    is_held_at(pulled_);
    leaves_out_ = child_->leave_out(handed_out);
    return true;
  }

  void close_ranks() {
    if (hole_ + 1 < slots_.size()) slots_[hole_] = std::move(slots_.back());
    slots_.pop_back();
    if (oldest_ == slots_.size()) oldest_ = hole_;
    hole_ = kNone;
  }

  // The next input, which has this ordinal.
  Pull next_input(uint64_t ordinal, Slot& out, Status& failure) {
    if (left_ == 0) {
      auto made = std::make_shared<Pulled>();
      child_->save(made->before);
      made->ordinal = ordinal;
      if (const Pull pulled = child_->pull(made->item, failure, kAtOnce); pulled != Pull::item) return pulled;
      left_ = made->item.num_samples(), range_ = at_ = 0;
      pending_ = std::move(made);
    }
    out = {pending_, ordinal, range_, at_++};
    --left_;
    const std::vector<RowRange>& ranges = pending_->item.ranges;
    if (!ranges.empty() && at_ == ranges[range_].count) ++range_, at_ = 0;
    if (left_ == 0) out.pulled = std::move(pending_);
    return Pull::item;
  }

  static void give(Slot& slot, Item& out) {
    const std::shared_ptr<Pulled> pulled = std::move(slot.pulled);
    const bool is_row = !pulled->item.ranges.empty();
    if (is_row && out.samples.empty()) {
      const RowRange& range = pulled->item.ranges[slot.range];
      return out.ranges.push_back({range.rows, range.first + slot.at, 1});
    }
    out.part();
    if (is_row) out.is_alone = false;
    const RowRange* range = is_row ? &pulled->item.ranges[slot.range] : nullptr;
    out.samples.push_back(range ? range->rows->sample(range->first + slot.at)
                                : std::move(pulled->item.samples[slot.at]));
  }

  // Searched only after the oldest was handed out, one time in `window`. Null: nothing is held.
  const Slot* find_oldest() const {
    if (oldest_ == kNone)
      for (size_t i = 0; i < slots_.size(); ++i)
        if (i != hole_ && (oldest_ == kNone || slots_[i].ordinal < slots_[oldest_].ordinal)) oldest_ = i;
    return oldest_ == kNone ? nullptr : &slots_[oldest_];
  }

  // Fills the window up to its size, or as far as there is input.
  Pull fill(Status& failure) {
    while (!ended_ && (hole_ != kNone || slots_.size() < window_)) {
      Slot next;
      const Pull pulled = next_input(pulled_, next, failure);
      if (pulled == Pull::end)
        ended_ = true;
      else if (pulled != Pull::item)
        return pulled;
      else {
        ++pulled_, ++replay_next_;
        if (hole_ != kNone)
          slots_[hole_] = std::move(next), hole_ = kNone;
        else
          slots_.push_back(std::move(next));
      }
    }
    if (hole_ != kNone) close_ranks();
    return Pull::item;
  }

  // After restore(): reads held elements again, and skips those that were handed out.
  Pull replay(Status& failure) {
    while (replay_next_ < pulled_) {
      const bool any_left = replayed_ < to_replay_.size();
      if (leaves_out_) replay_next_ = any_left ? to_replay_[replayed_].first : pulled_;
      if (replay_next_ == pulled_) break;
      Slot next;
      if (const Pull pulled = next_input(replay_next_, next, failure); pulled != Pull::item) return pulled;
      if (any_left && to_replay_[replayed_].first == replay_next_)
        slots_[to_replay_[replayed_++].second] = std::move(next);
      ++replay_next_;
    }
    return Pull::item;
  }

  Shuffle shuffle_;
  uint64_t window_, k1_ = 0, emitted_ = 0, pulled_ = 0, replay_next_ = 0;
  uint64_t hole_ = kNone;            // the slot handed out last, not filled again yet
  mutable uint64_t oldest_ = kNone;  // the slot of the oldest element, if known
  bool ended_ = false;
  std::vector<Slot> slots_;
  std::shared_ptr<Pulled> pending_;  // the current item of the child,
  uint32_t range_ = 0, at_ = 0;      //   the place of its next element,
  uint64_t left_ = 0;                //   and how many are left
  Cursor restored_;
  std::vector<std::pair<uint64_t, size_t>> to_replay_;  // held ordinals, ascending, and their slots
  size_t replayed_ = 0;
  bool leaves_out_ = false;  // the child gives only those until `pulled_`
};

}  // namespace

StreamPtr window_shuffle_stream(StreamPtr child, const Shuffle& shuffle) {
  return std::make_unique<WindowShuffleStream>(std::move(child), shuffle);
}

}  // namespace headrace
