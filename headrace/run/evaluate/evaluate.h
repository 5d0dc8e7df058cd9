// Runs Programs on one sample at a time. One Evaluator belongs to one worker; its scratch is reused from
// sample to sample.
#pragma once
#include <array>
#include <span>
#include <utility>
#include <vector>

#include "headrace/core/pool.h"
#include "headrace/core/sample.h"
#include "headrace/graph/program.h"
#include "headrace/run/measure/counters.h"
#include "headrace/run/measure/part_clock.h"

namespace headrace {

// A value while a program runs: bytes, and the tensor that owns them when there is one.
struct Operand {
  View view;
  const Tensor* owner = nullptr;
};

std::vector<Operand> operands_of(std::span<const Tensor> fields);

// A handle that makes the programs cheaper for many samples on this thread while it is held: the GIL, if they
// consist only of Python functions. Otherwise null.
std::shared_ptr<const void> hold_for(std::span<const Program> programs);

// The identity of a sample for operators, the id field and the validity mask.
struct Identity {
  SampleId id;
  uint64_t shown = 0;
};

// The begin times of the rows of a part, if they are so few that reading the clock for each pays.
class RowTimes {
 public:
  static constexpr size_t kMost = 16;  // a part has 100 µs of work: the clock costs less than 1 % of a row
  void begin(size_t rows) { is_on_ = rows > 1 && rows <= kMost, count_ = 0; }
  void next_row() {
    if (is_on_) at_[count_++] = now_ns();
  }
  void end() {
    if (is_on_) at_[count_] = now_ns();
  }
  size_t num_rows() const { return is_on_ ? count_ : 0; }
  uint64_t row_ns(size_t row) const { return at_[row + 1] - at_[row]; }
  uint64_t all_ns() const { return at_[count_] - at_[0]; }

 private:
  bool is_on_ = false;
  size_t count_ = 0;
  std::array<uint64_t, kMost + 1> at_{};
};

// Selects the runs of programs that are timed, operator by operator: reading a thread's CPU time costs as
// much as a small operator.
class TimedSamples {
 public:
  void next() {
    if (is_on_) every_ = ns_ >= kShortNs ? kEvery : every_ < kMostEvery ? 2 * every_ : every_;
    if (is_on_) more_ = turn_++ % kTurns;  // not in step with periodic work: a sample may be two runs
    is_on_ = ++since_ >= every_ + more_;
    if (is_on_) ns_ = 0, stands_for_ = std::exchange(since_, 0);
  }
  bool is_on() const { return is_on_; }
  void add(uint64_t ns) { ns_ += ns; }                 // of the sample
  uint64_t stands_for() const { return stands_for_; }  // samples: it, and those before it that were not timed

 private:
  static constexpr uint64_t kShortNs = 20'000, kEvery = 16, kMostEvery = 128, kTurns = 7;
  uint64_t every_ = 1, more_ = 0, turn_ = 0, since_ = 0, stands_for_ = 1, ns_ = kShortNs;
  bool is_on_ = false;
};

// Notified of every call of an operator, on the calling thread.
class CallWatcher {
 public:
  virtual ~CallWatcher() = default;
  virtual void begin() = 0;
  // After success, with its outputs.
  virtual void end(const Program& program, const Call& call, std::span<const MutView> outputs) = 0;
};

class Evaluator {
 public:
  Evaluator(Pool* pool, Counters* counters, uint64_t seed, bool write_into_slot,
            const StopFlag* stop = nullptr)
      : scratch_(pool, stop),
        pool_(pool),
        counters_(counters),
        seed_(seed),
        write_into_slot_(write_into_slot) {}

  // Runs `programs` one after the other on `fields`. Output i goes to `slots[i]` if that has memory,
  // otherwise to a tensor of pool memory in `out[i]`; `out` has as many entries as the last program has
  // leaves. On failure `failed()` is the index of the program. REQUIRES: at least one program.
  Status run(std::span<const Program> programs, std::span<const Operand> fields, const Identity& who,
             std::span<const MutView> slots, std::span<Tensor> out);
  // The same, also without programs: then fields pass through.
  Status run_or_pass(std::span<const Program> programs, const Schema& schema, std::span<const Operand> fields,
                     const Identity& who, std::span<const MutView> slots, std::span<Tensor> out);
  static constexpr size_t kBeforePrograms = ~size_t{0};
  // Begins a new sample, or continues one after its first programs: nothing has failed yet.
  void begin(size_t programs_before = 0) {
    failed_ = kBeforePrograms, failed_at_ = nullptr, before_ = programs_before;
  }
  size_t failed() const { return failed_; }
  // The user's line of the operator that failed: " (map at train.py:31)", or empty.
  std::string failed_at() const { return failed_at_ ? *failed_at_ : ""; }

  // A new tensor of pool memory, or an error that names the size and the budget.
  Result<Tensor> allocate(const TensorSpec& spec, Use use);

  // Time that functions waited instead of working, since the last take_waited().
  void add_waited(uint64_t ns) { waited_ns_ += ns; }
  uint64_t take_waited() { return std::exchange(waited_ns_, 0); }
  // CPU time of Python functions in this process, since the last take_in_python(). Where the GIL is taken for
  // each call it is estimated from the timed samples.
  void begin_with_lock() { has_lock_ = true; }
  void end_with_lock(uint64_t ns) { has_lock_ = false, in_python_ns_ += ns; }
  uint64_t take_in_python() { return std::exchange(in_python_ns_, 0); }
  void set_called() { called_ = true; }  // Python functions were called
  bool take_called() { return std::exchange(called_, false); }

  RowTimes& row_times() { return row_times_; }
  PartClock& part_clock() { return part_clock_; }

  // Null: no watcher. It must outlive the calls.
  void watch(CallWatcher* watcher) { watcher_ = watcher; }

  Scratch& scratch() { return scratch_; }
  Pool* pool() { return pool_; }
  Counters& counters() { return *counters_; }

 private:
  Status deliver(size_t leaf, const std::string& name, const Operand& value, std::span<const MutView> slots,
                 std::span<Tensor> out);
  Status run_one(const Program& program, std::vector<Operand>& values, const Identity& who,
                 std::span<const MutView> slots, std::span<Tensor> out);
  Status run_call(const Call& call, const Program& program, std::vector<Operand>& values, const Identity& who,
                  std::span<const MutView> slots, std::span<Tensor> out);
  Key key_of(const Call& call, const Identity& who) const;
  Box part_for(const Call& call, const Shape& image, const Identity& who) const;
  Result<MutView> place(const Program& program, int value, const TensorSpec& spec,
                        std::span<const MutView> slots, std::span<Tensor> out);

  Scratch scratch_;
  Pool* pool_;
  Counters* counters_;
  uint64_t seed_;
  bool write_into_slot_;
  CallWatcher* watcher_ = nullptr;
  std::span<const Program> chain_;  // programs being run
  size_t at_ = 0;                   // index of the current one
  size_t before_ = 0;               // programs of the sample that ran before them
  size_t failed_ = 0;
  const std::string* failed_at_ = nullptr;
  bool called_ = false;
  RowTimes row_times_;
  PartClock part_clock_;
  TimedSamples timed_;
  uint64_t waited_ns_ = 0, in_python_ns_ = 0;
  int64_t shown_ = 0;  // engine fields of the current sample
  bool valid_ = true, has_lock_ = false;
  std::vector<Operand> values_, next_;
  std::vector<View> in_;
  std::vector<MutView> out_;
  std::vector<Shape> shapes_;
  std::vector<int8_t> placed_;  // per output leaf: 1 when its bytes are already in the slot or tensor
};

// Adds to the evaluator how long this thread waited during its lifetime and, if the thread holds the GIL all
// the time, how long it worked under it.
class MeasuredWait {
 public:
  MeasuredWait(Evaluator& evaluator, bool has_lock);
  ~MeasuredWait();
  MeasuredWait(const MeasuredWait&) = delete;
  MeasuredWait& operator=(const MeasuredWait&) = delete;

 private:
  Evaluator& evaluator_;
  bool has_lock_;
  uint64_t began_, cpu_began_;
};

}  // namespace headrace
