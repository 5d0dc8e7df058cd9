// A Trace: what workers, readers and the consumer of an iteration did when, and why the tuner changed
// something. Kept in memory of a fixed size; a file for Perfetto or a page can be made of it.
//
// Each thread writes its own track without a lock. Times come in as now_ns() says them and are told since the
// beginning. Reading is for any thread at any time.
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
    page,  // the last seconds: some 100 kB a track
    file,  // at most 1.7 million slices, 100 MB: twenty minutes at 1,400 a second
  };
  Trace(Size size, uint64_t began_ns);

  // Of worker `number` of its kind, who adds to it what he did: after Stage::run() and before
  // Executor::finish().
  Track& track(Duty duty, size_t number);
  void add(Track& track, const Work& work) {
    const bool finish = work.part == Work::kFinish;
    if (finish && work.ended_ns - work.began_ns < kLeastFinishNs) return;  // part of what is around it
    const auto kind = work.io ? Slice::Kind::read : finish ? Slice::Kind::finish : Slice::Kind::samples;
    Slice* held = track.go_on(kind, work.called, work.stage->number(), work.began_ns, work.ended_ns);
    if (!held) return begin(track, work, kind);
    held->cpu_ns += work.busy_ns, held->waited_ns += work.waited_ns, held->bytes += work.read_bytes;
    if (!finish) held->rows += static_cast<uint32_t>(work.ticket->parts[work.part].count);
  }

  // By the consumer: it comes for an element; it leaves with one, or without. `waited_from_ns`: since when it
  // waited in this call, and until when; 0: it did not.
  void arrives() { not_timed_ > 0 ? void(--not_timed_) : begins_call(); }
  void leaves(Pull pulled, uint64_t waited_from_ns, uint64_t left_ns, const TicketRef& given) {
    const bool is_one_of_many = not_timed_ != to_leave_out_ && pulled == Pull::item && waited_from_ns == 0;
    if (!is_one_of_many) ends_call(pulled, waited_from_ns, left_ns, given);
  }

  // What is ready and in use, now and then. REQUIRES: the executor's mutex.
  bool wants_state(uint64_t at_ns) const { return at_ns >= next_state_ns_; }
  void add_state(uint64_t at_ns, size_t ready, size_t memory);
  // What the tuner set, and why.
  void set(uint64_t at_ns, const Settings& settings);
  void decide(uint64_t at_ns, std::string text);
  void decide(uint64_t at_ns, const std::vector<Decision>& decisions);  // the last of them

  // When no thread adds anything any more: nothing is held back, and the consumer's step is over.
  void close();

  struct Setting {
    uint64_t at_ns;
    Settings settings;
  };
  struct Event {
    uint64_t at_ns;
    std::string text;
  };
  // Everything in it, to be looked at in peace.
  struct Copy {
    std::vector<std::vector<Slice>> workers, io;
    std::vector<Slice> consumer, states;
    std::vector<Setting> settings;
    std::vector<Event> decisions;
    uint64_t dropped = 0;  // slices that were overwritten
  };
  uint64_t last_ns() const;               // until when it goes
  Copy copy(uint64_t from_ns = 0) const;  // without what ended before

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

  // The consumer's own, which writes some of it for each element: on a cache line where nobody else reads.
  alignas(kCacheLine) uint64_t step_from_ns_ = 0;  // 0: it has no element
  uint64_t waiting_since_ns_ = 0;                  // of calls that left without one; 0: none did
  // Of the next calls, those that nobody looks at: so many of them, and of these the ones to come. They end a
  // step each, and none of them waits.
  uint32_t to_leave_out_ = 0, not_timed_ = 0;
  TicketRef step_;  // what the first of them is about

  alignas(kCacheLine) uint64_t next_state_ns_ = 0;  // guarded by the executor's mutex

  mutable std::mutex mutex_;  // guards the next ones, not what is in a track
  std::deque<Track> workers_, io_;
  std::vector<Setting> settings_;
  std::vector<Event> decisions_;
};

// JSON that ui.perfetto.dev and chrome://tracing open.
Status write_trace(const Trace& trace, const SampleNames& names, const std::string& path);

}  // namespace headrace
