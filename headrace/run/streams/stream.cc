#include "headrace/run/streams/stream.h"

#include <algorithm>
#include <utility>

#include "headrace/core/saturate.h"
#include "headrace/run/streams/one_child.h"
#include "headrace/run/streams/state_form.h"

namespace headrace {
namespace {

class PositionStream final : public Stream {
 public:
  PositionStream(std::shared_ptr<const Level> level, const uint64_t* block, const Level::Start* start)
      : level_(std::move(level)), block_(block), start_(start) {}
  Pull pull(Item& out, Status& failure, uint64_t) override {
    if (next_ == 0) failure = level_->check(epoch_);
    if (!failure.ok()) return Pull::error;
    const uint64_t size = level_->size(epoch_, *start_);
    if (next_ >= size) return Pull::end;
    out.first = next_, out.count = std::min(*block_, size - next_);
    out.epoch = epoch_, out.occurrence = occurrence_, out.valid = valid_;
    if (const auto gap = next_gap(); gap != gaps_.end()) out.count = std::min(out.count, gap->first - next_);
    next_ += out.count;
    pass_gap();
    return Pull::item;
  }
  void start(uint64_t epoch, uint32_t occurrence, bool valid) override {
    next_ = 0, epoch_ = epoch, occurrence_ = occurrence, valid_ = valid;
    gaps_.clear();
  }
  void save(Cursor& cursor) const override { cursor.push_back(next_); }
  void restore(CursorReader& cursor) override {
    next_ = cursor.next();
    if (next_ > level_->size(epoch_, *start_)) cursor.refuse("position", "position");
  }  // gaps are kept: a ticket was given back
  void describe(StateForm& form) const override {
    form.stream("position");
    form.number("position", most_elements());
  }
  uint64_t most_elements() const override { return level_->most(); }
  bool leave_out(std::span<const Gap> outputs) override {
    for (const Gap& one : outputs) gaps_.push_back({next_ + one.first, one.count});
    pass_gap();
    return true;
  }
  void stages(std::vector<Stage*>&) override {}

 private:
  std::vector<Gap>::const_iterator next_gap() const {
    return std::ranges::lower_bound(gaps_, next_, {}, &Gap::first);
  }
  void pass_gap() {
    if (const auto gap = next_gap(); gap != gaps_.end() && gap->first == next_) next_ += gap->count;
  }

  std::vector<Gap> gaps_;  // skipped positions
  std::shared_ptr<const Level> level_;
  const uint64_t* block_;
  const Level::Start* start_;
  uint64_t next_ = 0, epoch_ = 0;
  uint32_t occurrence_ = 0;
  bool valid_ = true;
};

class TakeStream final : public OneChild {
 public:
  TakeStream(StreamPtr child, uint64_t count) : OneChild(std::move(child)), count_(count) {}
  Pull pull(Item& out, Status& failure, uint64_t most) override {
    if (taken_ == count_) return Pull::end;
    const Pull pulled = child_->pull(out, failure, std::min(most, count_ - taken_));
    if (pulled == Pull::item) taken_ += out.num_samples();
    return pulled;
  }
  void start(uint64_t epoch, uint32_t occurrence, bool valid) override {
    taken_ = 0, child_->start(epoch, occurrence, valid);
  }
  void save(Cursor& cursor) const override { cursor.push_back(taken_), child_->save(cursor); }
  void restore(CursorReader& cursor) override {
    taken_ = cursor.next();
    if (taken_ > count_) cursor.refuse("take", "taken");
    child_->restore(cursor);
  }
  void describe(StateForm& form) const override {
    form.stream("take");
    form.number("taken", most_elements());
    form.child("input", *child_);
  }
  uint64_t most_elements() const override { return std::min(count_, child_->most_elements()); }

  Stage* outermost() override { return child_->outermost(); }

 private:
  uint64_t count_, taken_ = 0;
};

class SkipStream final : public OneChild {
 public:
  SkipStream(StreamPtr child, uint64_t count) : OneChild(std::move(child)), count_(count) {}
  Pull pull(Item& out, Status& failure, uint64_t most) override {
    while (skipped_ < count_) {
      Item passed;
      if (const Pull pulled = child_->pull(passed, failure, count_ - skipped_); pulled != Pull::item)
        return pulled;
      skipped_ += passed.num_samples();
    }
    return child_->pull(out, failure, most);
  }
  void start(uint64_t epoch, uint32_t occurrence, bool valid) override {
    skipped_ = 0, child_->start(epoch, occurrence, valid);
  }
  void save(Cursor& cursor) const override { cursor.push_back(skipped_), child_->save(cursor); }
  void restore(CursorReader& cursor) override {
    skipped_ = cursor.next();
    if (skipped_ > count_) cursor.refuse("skip", "skipped");
    child_->restore(cursor);
  }
  void describe(StateForm& form) const override {
    form.stream("skip");
    form.number("skipped", std::min(count_, child_->most_elements()));
    form.child("input", *child_);
  }

  Stage* outermost() override { return child_->outermost(); }

 private:
  uint64_t count_, skipped_ = 0;
};

class RepeatStream final : public OneChild {
 public:
  RepeatStream(StreamPtr child, uint64_t times) : OneChild(std::move(child)), times_(times) {}
  Pull pull(Item& out, Status& failure, uint64_t most) override {
    while (true) {
      const Pull pulled = child_->pull(out, failure, most);
      if (pulled == Pull::item) empty_ = false;
      if (pulled != Pull::end) return pulled;
      if (pass_ + 1 == times_ || (times_ == 0 && empty_)) return Pull::end;
      begin(pass_ + 1);
    }
  }
  void start(uint64_t epoch, uint32_t occurrence, bool valid) override {
    epoch_ = epoch, occurrence_ = occurrence, valid_ = valid;
    begin(0);
  }
  void save(Cursor& cursor) const override {
    cursor.push_back(pass_), cursor.push_back(empty_), child_->save(cursor);
  }
  void restore(CursorReader& cursor) override {
    const uint64_t pass = cursor.next();
    if (times_ != 0 && pass >= times_) cursor.refuse("repeat", "pass");
    begin(pass);
    empty_ = cursor.next() != 0;
    child_->restore(cursor);
  }
  void describe(StateForm& form) const override {
    form.stream("repeat");
    form.number("pass", times_ == 0 ? kInfinite : times_ - 1);
    form.flag("is_empty");
    form.child("input", *child_);
  }
  uint64_t most_elements() const override {
    return times_ == 0 ? kInfinite : saturating_mul(times_, child_->most_elements());
  }

  Stage* outermost() override { return child_->outermost(); }

 private:
  void begin(uint64_t pass) {
    pass_ = pass, empty_ = true;
    child_->start(epoch_of_pass(epoch_, times_, pass), occurrence_, valid_);
  }
  uint64_t times_, pass_ = 0, epoch_ = 0;
  uint32_t occurrence_ = 0;
  bool valid_ = true;
  bool empty_ = true;  // no element in this pass: then an endless repeat ends
};

class ConcatenateStream final : public Stream {
 public:
  explicit ConcatenateStream(std::vector<StreamPtr> children) : children_(std::move(children)) {}
  Pull pull(Item& out, Status& failure, uint64_t most) override {
    for (; current_ < children_.size(); ++current_)
      if (const Pull pulled = children_[current_]->pull(out, failure, most); pulled != Pull::end)
        return pulled;
    return Pull::end;
  }
  void start(uint64_t epoch, uint32_t occurrence, bool valid) override {
    current_ = 0;
    for (auto& child : children_) child->start(epoch, occurrence, valid);
  }
  void save(Cursor& cursor) const override {
    cursor.push_back(current_);
    for (const auto& child : children_) child->save(cursor);
  }
  void restore(CursorReader& cursor) override {
    current_ = cursor.next();
    if (current_ > children_.size()) cursor.refuse("concatenate", "current");
    for (auto& child : children_) child->restore(cursor);
  }
  void describe(StateForm& form) const override {
    form.stream("concatenate");
    form.number("current", children_.size());
    form.children("inputs", children_);
  }
  uint64_t most_elements() const override { return sum_of_elements(children_); }
  void stages(std::vector<Stage*>& out) override {
    for (auto child = children_.rbegin(); child != children_.rend(); ++child) (*child)->stages(out);
  }
  // The current child; the next one only when that has admitted everything, because memory held by a later
  // child cannot be released by consuming it.
  void open_stages(std::vector<Stage*>& out) override {
    size_t end = current_;
    while (end < children_.size() && children_[end]->has_taken_all()) ++end;
    for (size_t k = std::min(end + 1, children_.size()); k > current_; --k)
      children_[k - 1]->open_stages(out);
  }
  Stage* giving() override { return current_ < children_.size() ? children_[current_]->giving() : nullptr; }

 private:
  std::vector<StreamPtr> children_;
  size_t current_ = 0;
};

// A shard after a border: every rank runs everything and keeps one output of each round of `world`. A round
// is pulled completely before its output is given, so the state is the same on all ranks and fits any world.
class RoundStream final : public OneChild {
 public:
  RoundStream(StreamPtr child, const Shard& shard, bool exact)
      : OneChild(std::move(child)), shard_(shard), exact_(exact) {}
  Pull pull(Item& out, Status& failure, uint64_t) override {
    while (!ended_ && pulled_ < shard_.world) {
      Item next;
      const Pull pulled = child_->pull_one(next, failure);
      if (pulled == Pull::end)
        end_within_round();
      else if (pulled != Pull::item)
        return pulled;
      else if (pulled_++ == shard_.rank)
        mine_ = std::move(next);
    }
    if (wrap_to_) return pull_wrapped(out, failure);
    const bool given = pulled_ > shard_.rank && !(ended_ && exact_ && shard_.even == Even::drop);
    if (given) out = std::move(mine_);
    next_round();
    return given ? Pull::item : Pull::end;
  }
  void start(uint64_t epoch, uint32_t occurrence, bool valid) override {
    epoch_ = epoch, occurrence_ = occurrence, valid_ = valid;
    child_->start(epoch, occurrence, valid);
    begin(0);
  }
  void save(Cursor& cursor) const override {
    cursor.push_back(seen_);
    cursor.insert(cursor.end(), begin_.begin(), begin_.end());
  }
  void restore(CursorReader& cursor) override {
    const uint64_t seen = cursor.next();
    child_->restore(cursor);
    begin(seen);
  }
  void describe(StateForm& form) const override {
    form.stream("shard");
    form.number("seen", child_->most_elements());
    form.child("input", *child_);
  }

 private:
  void begin(uint64_t seen) {
    seen_ = seen, pulled_ = 0, ended_ = false, wrap_to_.reset();
    mark(begin_);
  }
  void mark(Cursor& where) const {
    where.clear();
    child_->save(where);
  }
  void next_round() {
    seen_ += std::exchange(pulled_, 0);
    if (ended_)
      begin_ = end_;
    else
      mark(begin_);
  }
  // With an exact length, ranks beyond the last output take the epoch's first ones again.
  void end_within_round() {
    ended_ = true;
    mark(end_);
    if (!exact_ || pulled_ == 0 || pulled_ > shard_.rank || shard_.even == Even::drop) return;
    const uint64_t total = seen_ + pulled_;
    wrap_to_ = (seen_ + shard_.rank - total) % total;
    child_->start(epoch_, occurrence_ + 1, valid_ && shard_.even != Even::pad);
  }
  Pull pull_wrapped(Item& out, Status& failure) {
    for (;; --*wrap_to_) {
      if (const Pull pulled = child_->pull_one(out, failure); pulled != Pull::item) return pulled;
      if (*wrap_to_ == 0) break;
    }
    wrap_to_.reset();
    next_round();
    return Pull::item;
  }

  Shard shard_;
  bool exact_;
  uint64_t seen_ = 0, pulled_ = 0;   // outputs in the rounds before, and in this one
  Item mine_;                        // this rank's output of the round
  Cursor begin_, end_;               // positions of the child when the round began, and at its end
  std::optional<uint64_t> wrap_to_;  // outputs of the epoch to skip before the one to take again
  bool ended_ = false, valid_ = true;
  uint64_t epoch_ = 0;
  uint32_t occurrence_ = 0;
};

// Exactly `steps` elements per epoch: a rank whose outputs end begins them again, in the next round.
class StepsStream final : public OneChild {
 public:
  StepsStream(StreamPtr child, const Shard& shard)
      : OneChild(std::move(child)), steps_(*shard.steps), marks_(shard.even == Even::pad) {}
  Pull pull(Item& out, Status& failure, uint64_t) override {
    while (given_ < steps_) {
      const Pull pulled = child_->pull_one(out, failure);
      if (pulled == Pull::end) {
        if (round_ > 0 && !any_) {
          failure = invalid("this rank has no elements to take steps= from").in_op("shard");
          return Pull::error;
        }
        any_ = false;
        begin_round(round_ + 1);
        continue;
      }
      if (pulled == Pull::item) ++given_, any_ = true;
      return pulled;
    }
    return Pull::end;
  }
  void start(uint64_t epoch, uint32_t occurrence, bool valid) override {
    epoch_ = epoch, occurrence_ = occurrence, valid_ = valid, given_ = 0, any_ = false;
    begin_round(0);
  }
  void save(Cursor& cursor) const override {
    cursor.insert(cursor.end(), {given_, uint64_t{round_}});
    child_->save(cursor);
  }
  void restore(CursorReader& cursor) override {
    const uint64_t given = cursor.next(), round = cursor.next();
    if (given > steps_) cursor.refuse("steps", "given");
    if (round > given) cursor.refuse("steps", "round");
    given_ = given, any_ = true;
    begin_round(static_cast<uint32_t>(round));
    child_->restore(cursor);
  }
  void describe(StateForm& form) const override {
    form.stream("steps");
    form.number("round", form.number("given", steps_));
    form.child("input", *child_);
  }
  uint64_t most_elements() const override { return steps_; }

  Stage* outermost() override { return child_->outermost(); }

 private:
  void begin_round(uint32_t round) {
    round_ = round;
    child_->start(epoch_, occurrence_ + round, valid_ && !(marks_ && round > 0));
  }

  uint64_t steps_, given_ = 0, epoch_ = 0;
  bool marks_, valid_ = true;
  uint32_t occurrence_ = 0, round_ = 0;
  bool any_ = false;  // elements in this round
};

// Samples in groups of `size`: the rows of a batch. An incomplete group is in the state by its first
// position.
class GroupStream final : public OneChild {
 public:
  GroupStream(StreamPtr child, uint64_t size, bool drop_last)
      : OneChild(std::move(child)), size_(size), drop_last_(drop_last) {}
  Pull pull(Item& out, Status& failure, uint64_t) override {
    if (gathered_ == 0) mark();
    while (gathered_ < size_) {
      Item next;
      const Pull pulled = child_->pull(next, failure, size_ - gathered_);
      if (pulled == Pull::end) break;
      if (pulled != Pull::item) return pulled;
      gathered_ += next.num_samples();
      group_.append(std::move(next));
    }
    const bool give = gathered_ > 0 && (gathered_ == size_ || !drop_last_);
    out = std::exchange(group_, {});
    gathered_ = 0;
    mark();
    return give ? Pull::item : Pull::end;
  }
  void start(uint64_t epoch, uint32_t occurrence, bool valid) override {
    group_ = {}, gathered_ = 0;
    child_->start(epoch, occurrence, valid);
    mark();
  }
  void save(Cursor& cursor) const override { cursor.insert(cursor.end(), begin_.begin(), begin_.end()); }
  void restore(CursorReader& cursor) override {
    child_->restore(cursor);
    mark();
  }

 private:
  void mark() {
    begin_.clear();
    child_->save(begin_);
  }
  uint64_t size_;
  bool drop_last_;
  Item group_;
  uint64_t gathered_ = 0;  // samples in it
  Cursor begin_;           // position of the child when the group began
};

}  // namespace

Status CursorReader::status() const {
  if (good_ && left() == 0) return {};
  if (is_stopped()) return stopped();
  const std::string got = good_             ? std::to_string(left()) + " more"
                          : member_.empty() ? "fewer"
                                            : std::string(member_) + " that does not fit";
  return invalid({.expected = "the numbers of this plan's verbs", .got = got})
      .with({.option = std::string(member_)})
      .before(verb_.empty() ? "" : std::string(verb_) + ": ")
      .in_op("state");
}

uint64_t sum_of_elements(const std::vector<StreamPtr>& streams) {
  uint64_t out = 0;
  for (const StreamPtr& stream : streams) out = saturating_add(out, stream->most_elements());
  return out;
}

StreamPtr position_stream(std::shared_ptr<const Level> level, const uint64_t* block,
                          const Level::Start* start) {
  return std::make_unique<PositionStream>(std::move(level), block, start);
}
StreamPtr take_stream(StreamPtr child, uint64_t count) {
  return std::make_unique<TakeStream>(std::move(child), count);
}
StreamPtr skip_stream(StreamPtr child, uint64_t count) {
  return std::make_unique<SkipStream>(std::move(child), count);
}
StreamPtr repeat_stream(StreamPtr child, uint64_t times) {
  return std::make_unique<RepeatStream>(std::move(child), times);
}
StreamPtr concatenate_stream(std::vector<StreamPtr> children) {
  return std::make_unique<ConcatenateStream>(std::move(children));
}
StreamPtr round_stream(StreamPtr child, const Shard& shard, bool exact) {
  return std::make_unique<RoundStream>(std::move(child), shard, exact);
}
StreamPtr steps_stream(StreamPtr child, const Shard& shard) {
  return std::make_unique<StepsStream>(std::move(child), shard);
}
StreamPtr group_stream(StreamPtr child, uint64_t size, bool drop_last) {
  return std::make_unique<GroupStream>(std::move(child), size, drop_last);
}

}  // namespace headrace
