#include "headrace/run/streams/scan.h"

#include <algorithm>
#include <atomic>

#include "headrace/run/streams/cursor_bytes.h"
#include "headrace/run/streams/one_child.h"
#include "headrace/run/streams/state_form.h"

namespace headrace {
namespace {

constexpr size_t kMostScanned = 256;  // of an item

// Moves from the feeder to the body with an item, and back when the work is done: `busy` is true while the
// body owns it.
struct ScanTurn {
  std::atomic<bool> busy{false};
  std::vector<Tensor> carried;
  Status failure;
};

class ScanFeeder final : public OneChild {
 public:
  ScanFeeder(StreamPtr child, std::vector<Tensor> initial)
      : OneChild(std::move(child)), initial_(std::move(initial)) {}

  Pull pull(Item& out, Status& failure, uint64_t) override {
    if (turn_->busy.load(std::memory_order_acquire)) return Pull::wait;
    if (!turn_->failure.ok()) {
      failure = turn_->failure;
      return Pull::error;
    }
    std::vector<Sample> samples;
    while (samples.size() < kMostScanned) {
      Item next;
      const Pull pulled = child_->pull_one(next, failure);
      if (pulled != Pull::item && samples.empty()) return pulled;
      if (pulled != Pull::item) break;
      samples.push_back(std::move(next.samples[0]));
    }
    out = {};
    out.first = again_;
    again_ -= std::min<uint64_t>(again_, samples.size());
    out.samples = std::move(samples);
    out.turn = turn_;
    turn_->busy.store(true, std::memory_order_relaxed);
    return Pull::item;
  }
  void start(uint64_t epoch, uint32_t occurrence, bool valid) override {
    begin(initial_, 0);
    child_->start(epoch, occurrence, valid);
  }
  void save(Cursor& cursor) const override {
    if (turn_->busy.load(std::memory_order_acquire)) return;  // see Stream::save()
    cursor.push_back(again_);
    for (const Tensor& leaf : turn_->carried) put_tensor(leaf, cursor);
    child_->save(cursor);
  }
  void restore(CursorReader& cursor) override {
    const uint64_t again = cursor.next();
    std::vector<Tensor> carried;
    for (const Tensor& leaf : initial_) {
      carried.push_back(take_tensor(cursor));
      if (carried.back().dtype != leaf.dtype || carried.back().shape.rank() != leaf.shape.rank())
        cursor.refuse("scan", "state");
    }
    begin(cursor.good() ? std::move(carried) : initial_, again);
    child_->restore(cursor);
  }
  void describe(StateForm& form) const override {
    form.stream("scan");
    form.number("again", child_->most_elements());
    form.list("state", initial_.size(), false, [](StateForm& leaf) { leaf.tensor("value"); });
    form.child("input", *child_);
  }

 private:
  // Running work keeps the old turn.
  void begin(std::vector<Tensor> carried, uint64_t again) {
    turn_ = std::make_shared<ScanTurn>();
    turn_->carried = std::move(carried);
    again_ = again;
  }

  std::vector<Tensor> initial_;
  std::shared_ptr<ScanTurn> turn_ = std::make_shared<ScanTurn>();
  uint64_t again_ = 0;  // after restore(): elements that were handed out and must be made once more
};

}  // namespace

StreamPtr scan_feeder(StreamPtr child, std::vector<Tensor> initial) {
  return std::make_unique<ScanFeeder>(std::move(child), std::move(initial));
}

Result<bool> ScanBody::admit(Ticket& ticket, size_t, Pool&) const {
  ticket.num_rows = ticket.item.samples.size();
  ticket.parts.push_back({.count = 1});
  return true;
}

// May run again after it found no memory: the turn only changes at the end. A sample that fails ends the
// stream after the samples before it.
RowStatus ScanBody::run(Ticket& ticket, Part&, Evaluator& evaluator) const {
  auto& turn = *static_cast<ScanTurn*>(ticket.item.turn.get());
  const std::shared_ptr<const void> held = hold_for({&program_, 1});
  std::vector<Tensor> carried = turn.carried;
  Status failure;
  ticket.outputs.clear(), ticket.ends.clear();
  for (size_t i = 0; i < ticket.item.samples.size(); ++i) {
    Sample sample = ticket.item.samples[i];
    if (!sample.failure) {
      Status status = step(carried, sample, evaluator);
      if (status.code() == Code::exhausted || status.code() == Code::cancelled) return {std::move(status), 0};
      if (keeps(status, 0))
        sample.failure = std::make_shared<const Status>(std::move(status));
      else if (!status.ok())
        failure = std::move(status);
      if (!failure.ok()) break;
    }
    if (i < ticket.item.first) continue;
    ticket.outputs.push_back(std::move(sample));
    ticket.ends.push_back(ticket.outputs.size());
  }
  turn.carried = std::move(carried);
  turn.failure = std::move(failure);
  turn.busy.store(false, std::memory_order_release);
  return {};
}

Status ScanBody::step(std::vector<Tensor>& carried, Sample& sample, Evaluator& evaluator) const {
  Sample both{sample.id, sample.shown_id, carried, nullptr};
  both.fields.insert(both.fields.end(), sample.fields.begin(), sample.fields.end());
  const auto where = [&] { return "sample " + std::to_string(sample.id.index); };
  HEADRACE_TRY(follow_maps({&program_, 1}, both, evaluator, where));
  const auto middle = both.fields.begin() + static_cast<std::ptrdiff_t>(states_);
  carried.assign(both.fields.begin(), middle);
  sample.fields.assign(middle, both.fields.end());
  return {};
}

bool ScanBody::finish_at_once(Ticket&) const { return true; }

}  // namespace headrace
