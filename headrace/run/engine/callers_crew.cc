// A crew without threads: the caller that asks for an element does the work for it.
#include <chrono>
#include <mutex>

#include "headrace/core/stop_flag.h"
#include "headrace/run/engine/crew.h"
#include "headrace/run/engine/ranges.h"
#include "headrace/run/engine/trace.h"
#include "headrace/run/measure/deadline.h"
#include "headrace/run/measure/machine.h"

namespace headrace {
namespace {

class CallersCrew final : public Crew {
 public:
  CallersCrew(Executor& executor, Team& team, Steer& steer, Trace* trace)
      : executor_(executor), team_(team), steer_(steer), trace_(trace) {
    look_for_profiler();
    std::lock_guard lock(executor_.mutex());
    steer_.begin(now_ns(), executor_, team_);
    executor_.set_ring(1);  // anything made ahead is made while the caller waits
    if (trace_) trace_->set(now_ns(), {0, 1, 1});
  }
  ~CallersCrew() override { stop(); }

  Pull next(Sample& out, Status& failure, std::optional<uint64_t> milliseconds) override {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point deadline = milliseconds ? deadline_in(*milliseconds) : Clock::time_point::max();
    std::unique_lock turn(turn_, std::defer_lock);  // one of several callers works at a time
    if (!milliseconds)
      turn.lock();
    else if (!turn.try_lock_until(deadline))
      return Pull::wait;
    const ReentrancyGuard working(number());
    const Range range{Range::Next()};
    if (trace_) trace_->arrives();
    uint64_t waits_since = 0;
    const auto leave = [&](Pull pulled) {
      const uint64_t now = waits_since ? now_ns() : 0;
      if (waits_since) steer_.consumer_waited(now);
      if (trace_) trace_->leaves(pulled, waits_since, now, executor_.given());
      return pulled;
    };
    std::unique_lock lock(executor_.mutex());
    size_t in_vain = 0;  // polls in a row with nothing to do: each of them may have freed something
    while (!stopping_ && over_.ok()) {
      const Pull pulled = executor_.poll_locked(out, failure);
      if (pulled == Pull::item) steer_.delivered(out);
      if (pulled != Pull::wait) return leave(pulled);
      if (!waits_since)
        steer_.consumer_waits(waits_since =
                                  now_ns());  // then does at least one part, however short the timeout
      else if (Clock::now() >= deadline)
        return leave(Pull::wait);
      if (do_some(Duty::cpu, lock) || do_some(Duty::io, lock))
        in_vain = 0;
      else if (++in_vain > executor_.stages().size() + 1)
        over_ = internal_error("the caller waits, but there is no work to do");
    }
    failure = over_.ok() ? stopped() : over_;
    return leave(Pull::error);
  }

  void ask_to_stop() override {
    std::lock_guard lock(executor_.mutex());
    if (!stopping_) steer_.end(now_ns(), executor_, team_), asked_within_ = is_within();
    stopping_ = true;
  }
  void stop() override {
    ask_to_stop();
    std::lock_guard turn(turn_);  // the caller that works finishes
  }

 private:
  // REQUIRES: the turn, and the lock, which is released while working. False: there was nothing to do.
  bool do_some(Duty duty, std::unique_lock<std::mutex>& lock) {
    if (!executor_.take_locked(duty, work_)) return false;
    Worker& worker = team_.member(duty, 0);
    lock.unlock();
    worker.evaluator.part_clock().restart();
    try {
      const Range range(work_);
      work_.stage->run(work_, worker.evaluator, worker.counters);
    } catch (const std::exception& e) {  // out of memory beyond the budget, or a plug-in that throws
      work_.result.status = internal_error(std::string("a worker stopped: ") + e.what());
      work_.began_ns = work_.ended_ns = now_ns();
    }
    worker.evaluator.scratch().clear();
    worker.evaluator.scratch().trim(executor_.scratch_to_keep(2));
    if (trace_) trace_->add(trace_->track(duty, 0), work_);
    const uint64_t end = work_.ended_ns;
    lock.lock();
    // Ctrl-C in a function, which runs in the caller's thread here, is handled before the rest of the batch.
    // And the error of a function that has stopped the run would be lost otherwise.
    const Code code = work_.result.status.code();
    const bool is_last = asked_within_ && code != Code::ok && code != Code::cancelled;
    if (code == Code::internal || is_last) over_ = work_.result.status;
    steer_.worked(work_, end - work_.began_ns, executor_);
    executor_.finish_locked(work_);
    steer_.look(end, executor_, team_);
    if (trace_ && trace_->wants_state(end))
      trace_->add_state(end, executor_.phases().ready, executor_.ledger().in_use);
    return true;
  }

  Executor& executor_;
  Team& team_;
  Steer& steer_;
  Trace* trace_;
  std::timed_mutex turn_;
  Work work_;                                     // guarded by the turn
  Status over_;                                   // why the run ended; guarded by the turn, too
  bool stopping_ = false, asked_within_ = false;  // guarded by the executor's mutex
};

}  // namespace

std::unique_ptr<Crew> callers_crew(Executor& executor, Team& team, Steer& steer, Trace* trace) {
  return std::make_unique<CallersCrew>(executor, team, steer, trace);
}

}  // namespace headrace
