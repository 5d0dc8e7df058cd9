// Streams of several children: zip, mix, choose; and windows of one.
#include <algorithm>
#include <deque>
#include <set>

#include "headrace/run/streams/state_form.h"
#include "headrace/run/streams/stream.h"

namespace headrace {
namespace {

class Children : public Stream {
 public:
  explicit Children(std::vector<StreamPtr> children) : children_(std::move(children)) {}
  void stages(std::vector<Stage*>& out) override {
    for (auto child = children_.rbegin(); child != children_.rend(); ++child) (*child)->stages(out);
  }

 protected:
  // All children admit work, but the one whose turn it is comes first: memory held by others is only released
  // when they are consumed, after it has given its element.
  void open_first(size_t first, std::vector<Stage*>& out) {
    for (size_t k = children_.size(); k-- > 0;)
      if (k != first) children_[k]->open_stages(out);
    if (first < children_.size()) children_[first]->open_stages(out);
  }
  void save_children(Cursor& cursor) const {
    for (const auto& child : children_) child->save(cursor);
  }
  std::vector<StreamPtr> children_;
};

// Elements that some children have given while others still work are in the state by the position before
// them.
class ZipStream final : public Children {
 public:
  ZipStream(std::vector<StreamPtr> children, uint32_t ids)
      : Children(std::move(children)), ids_(ids), held_(children_.size()) {}

  Pull pull(Item& out, Status& failure, uint64_t) override {
    for (size_t k = 0; k < children_.size(); ++k) {
      if (!held_[k].samples.empty()) continue;
      Item item;  // discarded unless the pull succeeds
      if (const Pull pulled = children_[k]->pull_one(item, failure); pulled != Pull::item) return pulled;
      held_[k] = std::move(item);
    }
    out = {};
    out.samples.push_back(joined());
    mark();
    return Pull::item;
  }
  void start(uint64_t epoch, uint32_t occurrence, bool valid) override {
    for (auto& child : children_) child->start(epoch, occurrence, valid);
    for (Item& item : held_) item = {};
    mark();
  }
  void save(Cursor& cursor) const override { cursor.insert(cursor.end(), begin_.begin(), begin_.end()); }
  void restore(CursorReader& cursor) override {
    for (auto& child : children_) child->restore(cursor);
    mark();
  }
  void describe(StateForm& form) const override {
    form.stream("zip");
    form.children("inputs", children_);
  }
  uint64_t most_elements() const override {
    uint64_t out = kInfinite;
    for (const StreamPtr& child : children_) out = std::min(out, child->most_elements());
    return out;
  }
  void open_stages(std::vector<Stage*>& out) override { open_first(missing(), out); }
  Stage* giving() override { return missing() < children_.size() ? children_[missing()]->giving() : nullptr; }

 private:
  size_t missing() const {  // the first child that has not given
    const auto empty = [](const Item& item) { return item.samples.empty(); };
    return static_cast<size_t>(std::ranges::find_if(held_, empty) - held_.begin());
  }
  Sample joined() {
    const Sample& naming = held_[ids_].samples[0];
    Sample out{naming.id, naming.shown_id, {}, nullptr};
    for (Item& item : held_) {
      Sample& sample = item.samples[0];
      if (!out.failure) out.failure = sample.failure;
      std::ranges::move(sample.fields, std::back_inserter(out.fields));
      item = {};
    }
    return out;
  }
  void mark() {
    begin_.clear();
    save_children(begin_);
  }

  uint32_t ids_;
  std::vector<Item> held_;  // of this element, by child
  Cursor begin_;            // positions of the children before it
};

// Positions of a route (Mixture, Choices) over children whose length is only known at their end.
template <class Route> class RoutedStream final : public Children {
 public:
  RoutedStream(std::vector<StreamPtr> children, Route route, MixStop stop, std::string verb)
      : Children(std::move(children)), fresh_(std::move(route)), stop_(stop), verb_(std::move(verb)) {
    begin(0, 0, true);
  }

  Pull pull(Item& out, Status& failure, uint64_t) override {
    while (const auto source = next()) {
      const Pull pulled = children_[*source]->pull_one(out, failure);
      if (pulled == Pull::item) {
        ++position_, empty_[*source] = false;
        return pulled;
      }
      if (pulled != Pull::end) return pulled;
      if (stop_ == MixStop::first_exhausted) return Pull::end;
      if (stop_ == MixStop::all_exhausted)
        drop_child(*source, position_);
      else if (empty_[*source]) {
        failure =
            invalid(verb_ + ": dataset " + std::to_string(*source) + " is empty and cannot be repeated");
        return Pull::error;
      } else {
        ended_[*source] = true;
        if (!all_ended()) begin_pass(*source, pass_[*source] + 1);
      }
    }
    return Pull::end;
  }
  void start(uint64_t epoch, uint32_t occurrence, bool valid) override { begin(epoch, occurrence, valid); }
  // The position; the children left out and where, or the ended children and the current passes.
  void save(Cursor& cursor) const override {
    cursor.push_back(position_);
    cursor.push_back(left_out_.size());
    for (const auto& [source, position] : left_out_) cursor.insert(cursor.end(), {source, position});
    for (size_t k = 0; stop_ == MixStop::cycle && k < children_.size(); ++k)
      cursor.insert(cursor.end(), {pass_[k], uint64_t{ended_[k]}, uint64_t{empty_[k]}});
    save_children(cursor);
  }
  void restore(CursorReader& cursor) override {
    begin(epoch_, occurrence_, valid_);
    position_ = cursor.next();
    for (uint64_t n = cursor.next(); n > 0 && cursor.good(); --n) {
      const uint64_t source = cursor.next(), position = cursor.next();
      const bool ascends = left_out_.empty() || left_out_.back().second <= position;
      if (source >= children_.size() || position > position_ || !ascends)
        return cursor.refuse(verb_, "left_out");
      drop_child(static_cast<uint32_t>(source), position);
    }
    for (size_t k = 0; stop_ == MixStop::cycle && k < children_.size(); ++k) {
      begin_pass(k, cursor.next());
      ended_[k] = cursor.next() != 0, empty_[k] = cursor.next() != 0;
    }
    for (auto& child : children_) child->restore(cursor);
  }
  void describe(StateForm& form) const override {
    form.stream(verb_);
    const uint64_t position = form.number("position");
    uint64_t last = 0;
    std::set<uint64_t> left_out;
    form.list("left_out", 0, true, [&](StateForm& one) {
      const uint64_t input = one.number("input", children_.size() - 1);
      if (!left_out.insert(input).second) one.refuse("input", "an input that was not left out before");
      last = one.number("position", position, last);
    });
    if (stop_ == MixStop::cycle)
      form.list("passes", children_.size(), false, [](StateForm& one) {
        one.number("pass");
        one.flag("has_ended");
        one.flag("is_empty");
      });
    form.children("inputs", children_);
  }
  uint64_t most_elements() const override {
    return stop_ == MixStop::cycle ? kInfinite : sum_of_elements(children_);
  }
  void open_stages(std::vector<Stage*>& out) override {
    const auto source = next();
    open_first(source ? *source : children_.size(), out);
  }
  Stage* giving() override {
    const auto source = next();
    return source ? children_[*source]->giving() : nullptr;
  }

 private:
  // The child whose turn it is; choices of children that were left out are skipped.
  std::optional<uint32_t> next() {
    if (stop_ == MixStop::cycle && all_ended()) return std::nullopt;
    for (; route_.has(position_); ++position_) {
      const uint32_t source = route_.at(position_).source;
      if (!out_[source]) return source;
    }
    return std::nullopt;
  }
  bool all_ended() const {
    bool any = false;
    for (uint32_t k = 0; k < children_.size(); ++k) {
      if (!route_.is_lasting(k)) continue;
      if (!ended_[k]) return false;
      any = true;
    }
    return any;
  }
  void drop_child(uint32_t source, uint64_t position) {
    left_out_.emplace_back(source, position);
    out_[source] = true;
    if constexpr (requires { route_.leave_out(source, position); }) route_.leave_out(source, position);
  }
  void begin(uint64_t epoch, uint32_t occurrence, bool valid) {
    epoch_ = epoch, occurrence_ = occurrence, valid_ = valid, position_ = 0;
    route_ = fresh_;
    left_out_.clear();
    out_.assign(children_.size(), false), ended_ = out_, empty_.assign(children_.size(), true);
    pass_.assign(children_.size(), 0);
    for (size_t k = 0; k < children_.size(); ++k) begin_pass(k, 0);
  }
  void begin_pass(size_t child, uint64_t pass) {
    pass_[child] = pass, empty_[child] = true;
    children_[child]->start(stop_ == MixStop::cycle ? epoch_of_pass(epoch_, 0, pass) : epoch_, occurrence_,
                            valid_);
  }

  Route fresh_, route_;
  MixStop stop_;
  std::string verb_;
  uint64_t position_ = 0, epoch_ = 0;
  uint32_t occurrence_ = 0;
  bool valid_ = true;
  std::vector<std::pair<uint32_t, uint64_t>> left_out_;  // child, and from which position on
  std::vector<bool> out_, ended_, empty_;                // by child; empty: no element in this pass
  std::vector<uint64_t> pass_;
};

// Rows that several windows share are held; the state is the position of the oldest of them.
class WindowStream final : public Stream {
 public:
  WindowStream(StreamPtr child, const Window& window) : child_(std::move(child)), window_(window) {}

  Pull pull(Item& out, Status& failure, uint64_t) override {
    for (; to_skip_ > 0 && !ended_; --to_skip_) {
      Item passed;
      const Pull pulled = child_->pull_one(passed, failure);
      if (pulled == Pull::end)
        end();
      else if (pulled != Pull::item)
        return pulled;
    }
    const uint64_t span = (window_.size - 1) * window_.stride + 1;
    while (held_.size() < span && !ended_) {
      Held next;
      child_->save(next.before);
      Item item;
      const Pull pulled = child_->pull_one(item, failure);
      if (pulled == Pull::end) {
        end();
        break;
      }
      if (pulled != Pull::item) return pulled;
      next.sample = std::move(item.samples[0]);
      held_.push_back(std::move(next));
    }
    if (held_.empty() || (held_.size() < span && window_.drop_last)) return Pull::end;
    out = {};
    for (size_t i = 0; i < held_.size() && i < span; i += window_.stride)
      out.samples.push_back(held_[i].sample);
    const size_t gone = std::min<size_t>(window_.shift, held_.size());
    held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(gone));
    to_skip_ = window_.shift - gone;
    return Pull::item;
  }
  void start(uint64_t epoch, uint32_t occurrence, bool valid) override {
    held_.clear(), to_skip_ = 0, ended_ = false;
    child_->start(epoch, occurrence, valid);
  }
  void save(Cursor& cursor) const override {
    cursor.push_back(to_skip_);
    if (!held_.empty())
      cursor.insert(cursor.end(), held_[0].before.begin(), held_[0].before.end());
    else if (ended_)
      cursor.insert(cursor.end(), at_end_.begin(), at_end_.end());
    else
      child_->save(cursor);
  }
  void restore(CursorReader& cursor) override {
    held_.clear(), ended_ = false;
    to_skip_ = cursor.next();
    if (to_skip_ > window_.shift) cursor.refuse("window", "to_skip");
    child_->restore(cursor);
  }
  void describe(StateForm& form) const override {
    form.stream("window");
    form.number("to_skip", window_.shift);
    form.child("input", *child_);
  }
  uint64_t most_elements() const override { return child_->most_elements(); }
  void stages(std::vector<Stage*>& out) override { child_->stages(out); }
  void open_stages(std::vector<Stage*>& out) override { child_->open_stages(out); }
  Stage* giving() override { return child_->giving(); }

 private:
  struct Held {
    Sample sample;
    Cursor before;  // position of the child before it
  };
  void end() {
    ended_ = true;
    at_end_.clear();
    child_->save(at_end_);
  }

  StreamPtr child_;
  Window window_;
  std::deque<Held> held_;  // from the first row of the next window on
  uint64_t to_skip_ = 0;   // rows between two windows
  bool ended_ = false;
  Cursor at_end_;
};

}  // namespace

StreamPtr zip_stream(std::vector<StreamPtr> children, uint32_t ids) {
  return std::make_unique<ZipStream>(std::move(children), ids);
}
// Makes an unsettled mixture. One settled for known sizes would leave out sources earlier, in the same order.
StreamPtr mix_stream(std::vector<StreamPtr> children, const Mix& mix) {
  return std::make_unique<RoutedStream<Mixture>>(std::move(children), *Mixture::make(mix.schedule, mix.seed),
                                                 mix.stop, "mix");
}
StreamPtr choose_stream(std::vector<StreamPtr> children, const Choose& choose) {
  return std::make_unique<RoutedStream<Choices>>(std::move(children), *choose.order, choose.stop, "choose");
}
StreamPtr window_stream(StreamPtr child, const Window& window) {
  return std::make_unique<WindowStream>(std::move(child), window);
}

}  // namespace headrace
