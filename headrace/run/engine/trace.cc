#include "headrace/run/engine/trace.h"

#include <algorithm>
#include <utility>

namespace headrace {
namespace {

constexpr uint64_t kStateEveryNs = 10'000'000;
// Reading the clock costs some 25 ns: short steps are merged into one slice of about this length.
constexpr uint64_t kLookEveryNs = 60'000;
constexpr uint64_t kMostStepsAtOnce = 64;
constexpr size_t kMostDecisions = 10'000;

// Pieces of 512 slices, 29 kB each.
constexpr size_t kPiecesOfPage = 4, kPiecesOfFile = 3'400;

}  // namespace

Trace::Trace(Size size, uint64_t began_ns)
    : began_ns_(began_ns),
      least_(size == Size::file ? 1 : kPiecesOfPage),
      most_(size == Size::file ? kPiecesOfFile : kPiecesOfPage),
      left_(size == Size::file ? kPiecesOfFile : 0),
      consumer_(began_ns, left_, least_, most_),
      states_(began_ns, left_, least_, most_) {}

Track& Trace::track(Duty duty, size_t number) {
  std::lock_guard lock(mutex_);
  std::deque<Track>& tracks = duty == Duty::io ? io_ : workers_;
  while (tracks.size() <= number) tracks.emplace_back(began_ns_, left_, least_, most_);
  return tracks[number];
}

void Trace::begin(Track& track, const Work& work, Slice::Kind kind) {
  Slice slice;
  slice.kind = kind, slice.calls = work.called, slice.stage = work.stage->number();
  slice.begin_ns = work.began_ns, slice.wall_ns = work.ended_ns - work.began_ns;
  slice.cpu_ns = work.busy_ns, slice.waited_ns = work.waited_ns, slice.bytes = work.read_bytes;
  slice.ticket = work.ticket->serial;
  if (work.part != Work::kFinish) {
    const Part& part = work.ticket->parts[work.part];
    slice.rows = static_cast<uint32_t>(part.count);
    if (const auto sample = work.stage->sample_of(*work.ticket, part, 0))
      slice.has_name = true, slice.read = sample->read, slice.index = sample->index;
  }
  track.begin(slice);
}

void Trace::begins_call() {
  if (waiting_since_ns_ != 0 || step_from_ns_ == 0) return;  // it still waits, or this is the first call
  const uint64_t now = now_ns();
  end_steps(to_leave_out_ + 1, now);
  step_from_ns_ = now;  // unless it waits
}

void Trace::end_steps(uint32_t steps, uint64_t end_ns) {
  Slice step;
  step.kind = Slice::Kind::step, step.times = steps;
  step.begin_ns = step_from_ns_, step.wall_ns = end_ns - std::min(end_ns, step_from_ns_);
  step.ticket = step_.ticket, step.stage = step_.stage;
  consumer_.add(step);
  const uint64_t step_ns = step.wall_ns / steps + 1;
  to_leave_out_ = not_timed_ = static_cast<uint32_t>(std::min(kLookEveryNs / step_ns, kMostStepsAtOnce));
}

// Adds the steps that were not timed.
void Trace::end_left_out(uint64_t end_ns) {
  if (const uint32_t steps = to_leave_out_ - not_timed_; steps > 0) end_steps(steps, end_ns);
}

void Trace::ends_call(Pull pulled, uint64_t waited_from_ns, uint64_t left_ns, const TicketRef& given) {
  if (waited_from_ns != 0 && waiting_since_ns_ == 0) {
    end_left_out(waited_from_ns);
    waiting_since_ns_ = waited_from_ns;
  }
  if (pulled != Pull::item) {
    end_left_out(now_ns());
    to_leave_out_ = not_timed_ = 0;
  }
  if (pulled == Pull::wait) return;
  const bool begins_step = waiting_since_ns_ != 0 || step_from_ns_ == 0;
  if (begins_step && left_ns == 0) left_ns = now_ns();
  if (waiting_since_ns_ != 0) {
    Slice wait;
    wait.kind = Slice::Kind::wait, wait.ticket = given.ticket, wait.stage = given.stage;
    wait.begin_ns = waiting_since_ns_, wait.wall_ns = left_ns - std::min(left_ns, waiting_since_ns_);
    wait.waited_ns = wait.wall_ns;
    consumer_.add(wait);
    waiting_since_ns_ = 0;
  }
  if (begins_step) step_from_ns_ = left_ns;
  if (pulled != Pull::item) step_from_ns_ = 0;
  step_ = given;
}

void Trace::add_state(uint64_t at_ns, size_t ready, size_t memory) {
  Slice state;
  state.kind = Slice::Kind::state;
  state.begin_ns = at_ns, state.rows = static_cast<uint32_t>(ready), state.bytes = memory;
  states_.add(state);
  next_state_ns_ = at_ns + kStateEveryNs;
}

void Trace::set(uint64_t at_ns, const Settings& settings) {
  std::lock_guard lock(mutex_);
  if (settings_.size() < kMostDecisions) settings_.push_back({since(at_ns), settings});
}

void Trace::decide(uint64_t at_ns, std::string text) {
  std::lock_guard lock(mutex_);
  if (decisions_.size() < kMostDecisions) decisions_.push_back({since(at_ns), std::move(text)});
}

void Trace::decide(uint64_t at_ns, const std::vector<Decision>& decisions) {
  if (decisions.empty()) return;
  const Decision& last = decisions.back();
  const bool undone = last.undone;
  decide(at_ns, std::string(knob_name(last.knob)) + " " + std::to_string(undone ? last.to : last.from) +
                    " to " + std::to_string(undone ? last.from : last.to) + (undone ? ", undone: " : ": ") +
                    last.why);
}

void Trace::close() {
  std::lock_guard lock(mutex_);
  for (std::deque<Track>* tracks : {&workers_, &io_})
    for (Track& track : *tracks) track.close();
  if (step_from_ns_ != 0 && waiting_since_ns_ == 0) {  // it leaves in the middle of a step
    end_steps(to_leave_out_ - not_timed_ + 1, now_ns());
    step_from_ns_ = 0;
  }
  consumer_.close(), states_.close();
}

uint64_t Trace::last_ns() const {
  std::lock_guard lock(mutex_);
  uint64_t out = consumer_.last_ns();
  for (const std::deque<Track>* tracks : {&workers_, &io_})
    for (const Track& track : *tracks) out = std::max(out, track.last_ns());
  return out;
}

Trace::Copy Trace::copy(uint64_t from_ns) const {
  std::lock_guard lock(mutex_);
  Copy out;
  const auto read = [&](const Track& track) {
    std::vector<Slice> slices = track.slices(from_ns);
    if (from_ns == 0) out.dropped += track.written() - std::min<uint64_t>(track.written(), slices.size());
    return slices;
  };
  for (const Track& track : workers_) out.workers.push_back(read(track));
  for (const Track& track : io_) out.io.push_back(read(track));
  out.consumer = read(consumer_), out.states = read(states_);
  out.settings = settings_, out.decisions = decisions_;
  return out;
}

}  // namespace headrace
