// A Trace: what workers, readers and the consumer of an iteration did when, and why the tuner changed
// settings. Kept in memory of a fixed size; it can be written as a file for Perfetto or drawn on a page.
//
// Each thread writes its own track without a lock. Times are passed in as now_ns() and returned relative to
// the beginning. Any thread may read at any time.
#pragma once
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "headrace/run/engine/executor.h"
#include "headrace/run/engine/track.h"
#include "headrace/run/measure/sample_names.h"
#include "headrace/tune/tuner.h"

namespace headrace {

class Trace {
 public:
  enum class Size : uint8_t {
    page,  // the last seconds: some 100 kB per track
    file,  // at most 1.7 million slices, 100 MB: twenty minutes at 1,400 per second
  };
  Trace(Size size, uint64_t began_ns);

  // The track of worker `number` of its kind, which adds its work after Stage::run() and before
  // Executor::finish().
  Track& track(Duty duty, size_t number);
  void add(Track& track, const Work& work) {
    const bool finish = work.part == Work::kFinish;
    if (finish && work.ended_ns - work.began_ns < kLeastFinishNs) return;  // counted as part of its neighbors
    const auto kind = work.io ? Slice::Kind::read : finish ? Slice::Kind::finish : Slice::Kind::samples;
    Slice* held = track.go_on(kind, work.called, work.stage->number(), work.began_ns, work.ended_ns);
    if (!held) return begin(track, work, kind);
    held->cpu_ns += work.busy_ns, held->waited_ns += work.waited_ns, held->bytes += work.read_bytes;
    if (!finish) held->rows += static_cast<uint32_t>(work.ticket->parts[work.part].count);
  }

  // Called by the consumer when it asks for an element, and when it leaves with or without one.
  // `waited_from_ns`: since when it waited in this call; 0: it did not wait.
  void arrives() { not_timed_ > 0 ? void(--not_timed_) : begins_call(); }
  void leaves(Pull pulled, uint64_t waited_from_ns, uint64_t left_ns, const TicketRef& given) {
    const bool is_one_of_many = not_timed_ != to_leave_out_ && pulled == Pull::item && waited_from_ns == 0;
    if (!is_one_of_many) ends_call(pulled, waited_from_ns, left_ns, given);
  }

  // Ready elements and memory in use, recorded now and then. REQUIRES: the executor's mutex.
  bool wants_state(uint64_t at_ns) const { return at_ns >= next_state_ns_; }
  void add_state(uint64_t at_ns, size_t ready, size_t memory);
  // Settings of the tuner, and the reasons.
  void set(uint64_t at_ns, const Settings& settings);
  void decide(uint64_t at_ns, std::string text);
  void decide(uint64_t at_ns, const std::vector<Decision>& decisions);  // the last of them

  // Call when no thread adds anything any more: writes pending slices and ends the consumer's step.
  void close();

  struct Setting {
    uint64_t at_ns;
    Settings settings;
  };
  struct Event {
    uint64_t at_ns;
    std::string text;
  };
  // A copy of the whole trace.
  struct Copy {
    std::vector<std::vector<Slice>> workers, io;
    std::vector<Slice> consumer, states;
    std::vector<Setting> settings;
    std::vector<Event> decisions;
    uint64_t dropped = 0;  // slices that were overwritten
  };
  uint64_t last_ns() const;               // the end of the last slice
  Copy copy(uint64_t from_ns = 0) const;  // without slices that ended before

 private:
  static constexpr uint64_t kLeastFinishNs = 5'000;

  uint64_t since(uint64_t at_ns) const { return at_ns > began_ns_ ? at_ns - began_ns_ : 0; }
  void begin(Track& track, const Work& work, Slice::Kind kind);
  void begins_call();
  void end_steps(uint32_t steps, uint64_t end_ns);
  void end_left_out(uint64_t end_ns);
  void ends_call(Pull pulled, uint64_t waited_from_ns, uint64_t left_ns, const TicketRef& given);

  const uint64_t began_ns_;
  const size_t least_, most_;  // pieces of a track
  PiecesLeft left_;
  Track consumer_, states_;

  // Written by the consumer for each element: on a cache line of its own.
  alignas(kCacheLine) uint64_t step_from_ns_ = 0;  // 0: it has no element
  uint64_t waiting_since_ns_ = 0;                  // since a call that left without an element; 0: none did
  // The number of calls that are not timed, and how many of them are still to come. Each of them ends a step,
  // and none of them waits.
  uint32_t to_leave_out_ = 0, not_timed_ = 0;
  TicketRef step_;  // the ticket of the first of them

  alignas(kCacheLine) uint64_t next_state_ns_ = 0;  // guarded by the executor's mutex

  mutable std::mutex mutex_;  // guards the next members, but not the content of tracks
  std::deque<Track> workers_, io_;
  std::vector<Setting> settings_;
  std::vector<Event> decisions_;
};

// Writes JSON for ui.perfetto.dev and chrome://tracing.
Status write_trace(const Trace& trace, const SampleNames& names, const std::string& path);

}  // namespace headrace
