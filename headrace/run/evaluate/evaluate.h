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

// What makes the programs cheaper from sample to sample while it is held, on this thread: where they are
// nothing but functions of an interpreter, its lock. Else null.
std::shared_ptr<const void> hold_for(std::span<const Program> programs);

// Who a sample is to operators, to the id field and to the validity mask.
struct Identity {
  SampleId id;
  uint64_t shown = 0;
  bool valid = true;
};

// When the rows of a part began, where they are few and each is worth a look at the clock.
class RowTimes {
 public:
  static constexpr size_t kMost = 16;  // a part holds 100 µs of work: a look costs less than 1 % of a row
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

// Which runs of programs are timed, operator by operator: to ask for a thread's CPU time costs as much as a
// small operator does.
class TimedSamples {
 public:
  void next() {
    if (is_on_) every_ = ns_ >= kShortNs ? kEvery : every_ < kMostEvery ? 2 * every_ : every_;
    if (is_on_) more_ = turn_++ % kTurns;  // not in step with what comes again: a sample may be two runs
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

// Told of every call of an operator, on the thread that makes it.
class CallWatcher {
 public:
  virtual ~CallWatcher() = default;
  virtual void begin() = 0;
  // It succeeded, and these are its outputs.
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

  // Run `programs` one after the other on `fields`. Output i goes to `slots[i]` when that has memory, else to
  // a tensor of pool memory in `out[i]`; `out` has as many entries as the last program has leaves. On failure
  // `failed()` says which program it was. REQUIRES: at least one program.
  Status run(std::span<const Program> programs, std::span<const Operand> fields, const Identity& who,
             std::span<const MutView> slots, std::span<Tensor> out);
  // The same for no programs at all: fields pass through.
  Status run_or_pass(std::span<const Program> programs, const Schema& schema, std::span<const Operand> fields,
                     const Identity& who, std::span<const MutView> slots, std::span<Tensor> out);
  static constexpr size_t kBeforePrograms = ~size_t{0};
  // A new sample, or what follows its first programs: nothing has failed yet.
  void begin(size_t programs_before = 0) {
    failed_ = kBeforePrograms, failed_at_ = nullptr, before_ = programs_before;
  }
  size_t failed() const { return failed_; }
  // The user's line of the operator that failed: " (map at train.py:31)", or nothing.
  std::string failed_at() const { return failed_at_ && !failed_at_->empty() ? " (" + *failed_at_ + ")" : ""; }

  // A new tensor of pool memory, or an error that names the size and the budget.
  Result<Tensor> allocate(const TensorSpec& spec, Use use);

  // Time that functions waited instead of working, since it was last asked for.
  void add_waited(uint64_t ns) { waited_ns_ += ns; }
  uint64_t take_waited() { return std::exchange(waited_ns_, 0); }
  // CPU time of this process's Python functions, since it was last asked for. Where the lock is taken for
  // each call it is estimated from the samples that are timed.
  void begin_with_lock() { has_lock_ = true; }
  void end_with_lock(uint64_t ns) { has_lock_ = false, in_python_ns_ += ns; }
  uint64_t take_in_python() { return std::exchange(in_python_ns_, 0); }
  void set_called() { called_ = true; }  // functions of an interpreter
  bool take_called() { return std::exchange(called_, false); }

  RowTimes& row_times() { return row_times_; }
  PartClock& part_clock() { return part_clock_; }

  // Null: nobody. It outlives the calls.
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
  std::span<const Program> chain_;  // under way
  size_t at_ = 0;                   // of those, the one that runs
  size_t before_ = 0;               // programs of the sample that ran before them
  size_t failed_ = 0;
  const std::string* failed_at_ = nullptr;
  bool called_ = false;
  RowTimes row_times_;
  PartClock part_clock_;
  TimedSamples timed_;
  uint64_t waited_ns_ = 0, in_python_ns_ = 0;
  int64_t shown_ = 0;  // the engine's fields of the sample under way
  bool valid_ = true, has_lock_ = false;
  std::vector<Operand> values_, next_;
  std::vector<View> in_;
  std::vector<MutView> out_;
  std::vector<Shape> shapes_;
  std::vector<int8_t> placed_;  // per output leaf: 1 when its bytes lie in the slot or tensor already
};

// Tells the evaluator how long this thread waited while it lived and, if it has Python's lock all the while,
// how long it worked under it.
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
