#include <algorithm>
#include <concepts>
#include <deque>
#include <map>

#include "headrace/run/streams/one_child.h"
#include "headrace/run/streams/state_form.h"

namespace headrace {
namespace {

int64_t integer_of(const View& value) {
  int64_t out = 0;
  visit_dtype(value.dtype, [&]<class T>() {
    if constexpr (std::integral<T>) out = static_cast<int64_t>(*value.as<T>());
  });
  return out;
}

// Samples wait in their groups, first in, first out, until a group is a batch. A group holds the last n
// samples that came to it: the state is these numbers and the position of the oldest held sample; from there
// the samples are read again, and go to the same groups.
class GroupByStream final : public OneChild {
 public:
  GroupByStream(StreamPtr child, const GroupBy& group) : OneChild(std::move(child)), rule_(group) {}

  Pull pull(Item& out, Status& failure, uint64_t) override {
    if (const Pull ready = replay(failure); ready != Pull::item) return ready;
    while (true) {
      if (full_) return give(groups_.find(*full_), out);
      if (ended_) return give_rest(out);
      const Pull pulled = pull_child(failure);
      if (pulled == Pull::end)
        ended_ = true;
      else if (pulled != Pull::item)
        return pulled;
      else if (add(out))
        return pulled;
    }
  }

  void start(uint64_t epoch, uint32_t occurrence, bool valid) override {
    groups_.clear(), left_.clear(), full_.reset(), rest_ = {};
    pulled_ = replay_next_ = 0, ended_ = false;
    child_->start(epoch, occurrence, valid);
  }

  void save(Cursor& cursor) const override {
    if (replay_next_ < pulled_) {  // nothing was handed out since restore()
      cursor.insert(cursor.end(), restored_.begin(), restored_.end());
      return;
    }
    const Held* oldest = nullptr;
    if (!rest_.oldest.empty() && !groups_.empty()) {
      oldest = rest_.oldest[rest_.oldest.size() - groups_.size()];
    } else {
      for (const auto& [key, group] : groups_)
        if (!oldest || group.held.front().ordinal < oldest->ordinal) oldest = &group.held.front();
    }
    cursor.insert(cursor.end(), {pulled_, ended_, oldest ? oldest->ordinal : pulled_, groups_.size()});
    if (!rest_.oldest.empty())
      cursor.insert(cursor.end(), rest_.held.end() - 2 * static_cast<std::ptrdiff_t>(groups_.size()),
                    rest_.held.end());
    else
      put_held(cursor);
    if (oldest)
      cursor.insert(cursor.end(), oldest->before.begin(), oldest->before.end());
    else
      child_->save(cursor);
  }

  void restore(CursorReader& cursor) override {
    pulled_ = cursor.next(), ended_ = cursor.next() != 0, replay_next_ = cursor.next();
    restored_ = {pulled_, ended_, replay_next_};
    const uint64_t held = cursor.next();
    restored_.push_back(held);
    uint64_t samples = 0;
    for (uint64_t i = 0; i < held && cursor.good(); ++i) {
      const uint64_t key = cursor.next(), count = cursor.next();
      if (count == 0 || (rule_.by_length && key > rule_.boundaries.size()))
        cursor.refuse(rule_.name(), "groups");
      left_[static_cast<int64_t>(key)] = count;
      restored_.insert(restored_.end(), {key, count});
      samples += count;
    }
    child_->restore(cursor);
    child_->save(restored_);
    if (replay_next_ > pulled_ || samples > pulled_ - replay_next_) {
      cursor.refuse(rule_.name(), "read_from");
      pulled_ = replay_next_ = 0;
    }
  }
  void describe(StateForm& form) const override {
    form.stream(rule_.name());
    const uint64_t pulled = form.number("pulled", child_->most_elements());
    form.flag("has_ended");
    uint64_t left = pulled - form.number("read_from", pulled);
    form.list("groups", 0, true, [&](StateForm& group) {
      if (rule_.by_length)
        group.number("key", rule_.boundaries.size());
      else
        group.any_number("key");
      left -= std::min(left, group.number("held", left, 1));
    });
    form.child("input", *child_);
  }

 private:
  struct Held {
    Sample sample;
    int64_t length = 0;  // or key
    Cursor before;       // position of the child before it was pulled
    uint64_t ordinal = 0;
  };
  struct Group {
    std::deque<Held> held;
    int64_t longest = 1;  // at least 1, so that empty samples fill a token budget, too
  };
  using Groups = std::map<int64_t, Group>;  // at the end they are handed out in this order
  // The groups left at the end, so that a state after each of them does not examine all others: their part of
  // the state, and the oldest sample of each group and those after it.
  struct Rest {
    Cursor held;
    std::vector<const Held*> oldest;
  };

  int64_t key_of(const Held& sample) const {
    return rule_.by_length ? group_of(sample.length) : sample.length;
  }
  // The number of the group between boundaries.
  int64_t group_of(int64_t length) const {
    return std::upper_bound(rule_.boundaries.begin(), rule_.boundaries.end(), length) -
           rule_.boundaries.begin();
  }
  // The longest that a group between boundaries may hold; 0: any.
  int64_t bound_of(int64_t group) const {
    const auto g = static_cast<size_t>(group);
    return rule_.pad_to_boundary && g < rule_.boundaries.size() ? rule_.boundaries[g] - 1 : 0;
  }
  // Whether a sample of that length may not join what the group holds.
  bool has_no_room(int64_t key, const Group& group, int64_t length) const {
    if (group.held.empty()) return false;
    if (rule_.token_budget > 0) {
      const int64_t longest = std::max({group.longest, length, bound_of(key)});
      return saturating_mul(group.held.size() + 1, static_cast<uint64_t>(longest)) > rule_.token_budget;
    }
    const size_t g = rule_.sizes.size() == 1 ? 0 : static_cast<size_t>(key);
    return group.held.size() >= rule_.sizes[g];
  }
  void push(int64_t key, Group& group) {
    group.longest = std::max(group.longest, next_.length);
    group.held.push_back(std::move(next_));
    if (has_no_room(key, group, 0)) full_ = key;
  }

  // The child's next sample, in next_.
  Pull pull_child(Status& failure) {
    next_ = {};
    child_->save(next_.before);
    Item item;
    const Pull pulled = child_->pull_one(item, failure);
    if (pulled != Pull::item) return pulled;
    next_.sample = std::move(item.samples[0]);
    if (next_.sample.failure) {
      failure = *next_.sample.failure;
      return Pull::error;
    }
    next_.length = integer_of(next_.sample.fields.back().view());
    next_.sample.fields.pop_back();
    if (rule_.pad_to_boundary && next_.length >= rule_.boundaries.back()) {
      failure = invalid("bucket_by_length: with pad_to_boundary lengths must be below the last boundary, " +
                        std::to_string(rule_.boundaries.back()) + ", got " + std::to_string(next_.length));
      return Pull::error;
    }
    next_.ordinal = pulled_;
    return Pull::item;
  }

  // Adds next_ to its group. True if the group had no room, and its content was given out as a batch.
  bool add(Item& out) {
    ++pulled_, ++replay_next_;
    const int64_t key = key_of(next_);
    Group& group = groups_[key];
    const bool made_room = has_no_room(key, group, next_.length);
    if (made_room) fill(key, group, out);
    push(key, group);
    return made_room;
  }

  void fill(int64_t key, Group& group, Item& out) const {
    out = {};
    out.first = rule_.by_length ? static_cast<uint64_t>(bound_of(key)) : 0;
    for (Held& held : group.held) out.samples.push_back(std::move(held.sample));
    group = {};
  }
  Pull give(Groups::iterator group, Item& out) {
    fill(group->first, group->second, out);
    groups_.erase(group);
    full_.reset();
    return Pull::item;
  }
  Pull give_rest(Item& out) {
    if (rule_.batch.drop_last) groups_.clear();
    if (groups_.empty()) return Pull::end;
    if (rest_.oldest.empty()) note_rest();
    return give(groups_.begin(), out);
  }
  void put_held(Cursor& cursor) const {
    for (const auto& [key, group] : groups_)
      cursor.insert(cursor.end(), {static_cast<uint64_t>(key), group.held.size()});
  }
  void note_rest() {
    put_held(rest_.held);
    rest_.oldest.resize(groups_.size());
    const Held* oldest = nullptr;
    size_t left = groups_.size();
    for (auto group = groups_.rbegin(); group != groups_.rend(); ++group) {
      const Held* first = &group->second.held.front();
      if (!oldest || first->ordinal < oldest->ordinal) oldest = first;
      rest_.oldest[--left] = oldest;
    }
  }

  // After restore(): reads again from the oldest held sample on, and keeps those that were held.
  Pull replay(Status& failure) {
    while (replay_next_ < pulled_) {
      const Pull pulled = pull_child(failure);
      if (pulled != Pull::item) return pulled;
      next_.ordinal = replay_next_++;
      const auto kept = left_.find(key_of(next_));
      if (kept == left_.end()) continue;
      auto& held = groups_[kept->first].held;
      held.push_back(std::move(next_));
      if (held.size() > kept->second) held.pop_front();
    }
    for (const auto& [key, count] : std::exchange(left_, {})) {
      Group& group = groups_[key];
      if (group.held.size() != count) {
        groups_.clear();
        failure = invalid({.expected = std::to_string(count) + " elements of group " + std::to_string(key) +
                                       " among those before its position",
                           .got = "fewer",
                           .fix = "was it changed by hand?"})
                      .before(std::string(rule_.name()) + ": ")
                      .in_op("state");
        return Pull::error;
      }
      for (const Held& held : group.held) group.longest = std::max(group.longest, held.length);
      if (has_no_room(key, group, 0)) full_ = key;
    }
    return Pull::item;
  }

  const GroupBy rule_;
  Groups groups_;
  std::optional<int64_t> full_;  // a group that is a batch
  Held next_;
  Rest rest_;
  uint64_t pulled_ = 0;               // samples since the epoch began
  uint64_t replay_next_ = 0;          // after restore(): the next to be read again
  std::map<int64_t, uint64_t> left_;  // and how many of the last samples each group keeps
  Cursor restored_;
  bool ended_ = false;
};

}  // namespace

StreamPtr group_by_stream(StreamPtr child, const GroupBy& group) {
  return std::make_unique<GroupByStream>(std::move(child), group);
}

}  // namespace headrace
