#include "headrace/run/engine/crew.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <system_error>
#include <thread>

#include "headrace/core/said_by.h"
#include "headrace/core/stop_flag.h"
#include "headrace/run/engine/ranges.h"
#include "headrace/run/engine/trace.h"
#include "headrace/run/measure/deadline.h"
#include "headrace/run/measure/machine.h"

namespace headrace {
namespace {

constexpr uint64_t kLookAtCoresNs = 50'000'000;             // each one is a system call
constexpr uint64_t kSlowNs = 2'000'000;                     // a part that takes longer may have lacked one
constexpr uint64_t kLookAtStateNs = 1'000'000;              // other threads write to it
constexpr auto kPatience = std::chrono::microseconds(500);  // how long a consumer waits for many elements

// Threads that sleep and were not woken yet. Checked before the mutex is released: threads that now have work
// are woken. One of a kind is enough: it checks again itself, and threads that are awake need no wake-up.
struct Asleep {
  size_t cpu = 0, io = 0;
  bool consumer = false, is_patient = false;
  size_t& of(Duty duty) { return duty == Duty::io ? io : cpu; }

  template <class Call> void wake_workers(const Executor& executor, Call call) {
    for (const Duty duty : {Duty::cpu, Duty::io})
      if (of(duty) > 0 && executor.has_work(duty)) --of(duty), call(duty);
  }
  // Not called by the consumer itself, which has just polled. A busy thread wakes a patient consumer only for
  // many elements: a wake-up costs more than a tiny batch.
  template <class Call> void wake_consumer(const Executor& executor, bool is_busy, Call call) {
    if (!consumer) return;
    if (is_busy && is_patient ? executor.has_many_news() : executor.has_news()) consumer = false, call();
  }
};

class ThreadsCrew final : public Crew {
 public:
  ThreadsCrew(Executor& executor, Team& team, Steer& steer, Trace* trace)
      : executor_(executor), team_(team), steer_(steer), trace_(trace) {
    look_for_profiler();
    try {
      std::lock_guard lock(executor_.mutex());
      steer_.begin(now_ns(), executor_, team_);
      apply(steer_.settings());
    } catch (...) {
      stop();
      throw;
    }
  }
  ~ThreadsCrew() override { stop(); }

  Pull next(Sample& out, Status& failure, std::optional<uint64_t> milliseconds) override {
    std::chrono::steady_clock::time_point deadline;
    const Range range{Range::Next()};
    if (trace_) trace_->arrives();
    std::unique_lock lock(executor_.mutex());
    uint64_t waits_since = 0;
    asleep_.is_patient = true;
    while (!stopping_) {
      const Pull pulled = executor_.poll_locked(out, failure);
      asleep_.consumer = pulled == Pull::wait;
      if (asleep_.consumer || !executor_.has_plenty()) wake_workers();
      if (pulled != Pull::wait) {
        const uint64_t now = waits_since ? now_ns() : 0;
        if (waits_since) steer_.consumer_waited(now);
        if (pulled == Pull::item) steer_.delivered(out);
        if (trace_) trace_->leaves(pulled, waits_since, now, executor_.given());
        return pulled;
      }
      if (!waits_since) {
        waits_since = now_ns();
        steer_.consumer_waits(waits_since);
        deadline = deadline_in(milliseconds.value_or(0));
      }
      if (asleep_.is_patient) {
        asleep_.is_patient = consumer_.wait_for(lock, kPatience) == std::cv_status::no_timeout;
      } else if (!milliseconds) {
        consumer_.wait(lock);
      } else if (consumer_.wait_until(lock, deadline) == std::cv_status::timeout) {
        steer_.consumer_waited(now_ns());
        if (trace_) trace_->leaves(Pull::wait, waits_since, 0, {});
        return Pull::wait;
      }
    }
    // A worker that asked to stop from within is still running, and may fail.
    while (asked_by_ && at_work_ > 0) {
      if (!milliseconds) {
        consumer_.wait(lock);
      } else if (consumer_.wait_until(lock, deadline_in(*milliseconds)) == std::cv_status::timeout) {
        if (trace_) trace_->leaves(Pull::wait, waits_since, now_ns(), {});
        return Pull::wait;
      }
    }
    if (trace_) trace_->leaves(Pull::error, waits_since, now_ns(), {});
    failure = failed_.ok() ? stopped() : failed_;
    return Pull::error;
  }

  void ask_to_stop() override {
    {
      std::lock_guard lock(executor_.mutex());
      if (!stopping_) steer_.end(now_ns(), executor_, team_);
      if (!stopping_) asked_by_ = ReentrancyGuard::worker_of(number());
      stopping_ = true;
    }
    for (std::condition_variable* who : {&io_, &cpu_, &resting_, &consumer_}) who->notify_all();
  }
  void stop() override {
    ask_to_stop();
    for (std::thread& thread : threads_)
      if (thread.joinable()) thread.join();
  }

 private:
  // REQUIRES: the mutex is held. Threads are started when first needed; those no longer needed rest, and
  // release their memory once they have noticed.
  void apply(const Settings& settings) {
    executor_.set_ring(settings.ready);
    if (trace_) trace_->set(now_ns(), settings);
    keep_scratch_ = executor_.scratch_to_keep(settings.workers + settings.io);
    for (const Duty duty : {Duty::cpu, Duty::io}) {
      const size_t wanted = duty == Duty::cpu ? settings.workers : settings.io;
      while (begun(duty) < wanted && begin_one(duty)) ++begun(duty);
      wanted_.of(duty == Duty::cpu ? Knob::workers : Knob::io) = wanted;
    }
    resting_.notify_all();
  }
  // False if the system has no more threads: the existing ones are enough.
  bool begin_one(Duty duty) {
    try {
      threads_.emplace_back([this, duty, number = begun(duty), worker = &team_.member(duty, begun(duty))] {
        work(*worker, duty, number);
      });
    } catch (const std::system_error&) {
      if (begun(duty) == 0) throw;
      return false;
    }
    return true;
  }
  size_t& begun(Duty duty) { return duty == Duty::cpu ? begun_cpu_ : begun_io_; }
  bool is_wanted(Duty duty, size_t number) const {
    return number < (duty == Duty::cpu ? wanted_.workers : wanted_.io);
  }

  // One turn of a worker: report the finished work, take the next, wake threads that now have work.
  void work(Worker& worker, Duty duty, size_t number) {
    const ReentrancyGuard working(this->number(), around_);
    Work work;
    SingleWriterCounter& lacked =
        duty == Duty::cpu ? worker.counters.core_wait_ns : worker.counters.reading_core_wait_ns;
    std::optional<CoreWait> core_wait;
    // A file each, so only as many as cores: with more readers, most wait for the store and not for a core.
    if (duty == Duty::cpu || number < steer_.cores()) core_wait.emplace();
    worker.evaluator.part_clock().restart();
    uint64_t looked = now_ns(), next_state = 0, at = looked;
    Track* track = trace_ ? &trace_->track(duty, number) : nullptr;
    std::unique_lock lock(executor_.mutex());
    while (true) {
      while (!stopping_ && (!is_wanted(duty, number) || !executor_.take_locked(duty, work))) {
        wait(worker, duty, number, lock);
        at = 0;
      }
      if (stopping_) break;
      if (duty == Duty::io) work.taken_ns = at > 0 ? at : now_ns(), steer_.took(work);
      wake(true);
      ++at_work_;
      const size_t keep_scratch = keep_scratch_;
      lock.unlock();
      try {
        const Range range(work);
        work.stage->run(work, worker.evaluator, worker.counters);
      } catch (const std::exception& e) {  // out of memory beyond the budget, or a plug-in that throws
        work.result.status = said_by(e).before("a worker stopped: ");
        work.began_ns = work.ended_ns = now_ns();
      }
      worker.evaluator.scratch().clear();
      worker.evaluator.scratch().trim(keep_scratch);
      const uint64_t end = at = work.ended_ns;
      if (core_wait && (end - looked > kLookAtCoresNs || end - work.began_ns > kSlowNs)) {
        looked = end;
        lacked.add(core_wait->since_last());
      }
      if (trace_) trace_->add(*track, work);
      lock.lock();
      --at_work_;
      if (stopping_) note_last(work.result.status);
      steer_.worked(work, end - work.began_ns, executor_);
      executor_.finish_locked(work);
      if (trace_ && end >= next_state) {
        next_state = end + kLookAtStateNs;
        if (trace_->wants_state(end))
          trace_->add_state(end, executor_.phases().ready, executor_.ledger().in_use);
      }
      if (const auto settings = steer_.look(end, executor_, team_)) {
        apply(*settings);
        if (trace_) trace_->decide(end, steer_.tuner().decisions());
      }
    }
    lock.unlock();
    if (core_wait) lacked.add(core_wait->since_last());
  }

  // Otherwise the error of a function that has stopped the run would be lost.
  void note_last(const Status& status) {
    const bool asked = asked_by_ && asked_by_ == ReentrancyGuard::worker_of(number());
    if (asked && !status.ok() && status.code() != Code::cancelled) failed_ = status;
    consumer_.notify_all();
  }

  void wait(Worker& worker, Duty duty, size_t number, std::unique_lock<std::mutex>& lock) {
    if (is_wanted(duty, number)) {
      ++asleep_.of(duty);
      wake(false);
      of(duty).wait(lock);
      return;
    }
    wake(false);  // it may have been woken for work that others must do now
    worker.evaluator.scratch().trim(0);
    resting_.wait(lock);
  }

  void wake_workers() {
    asleep_.wake_workers(executor_, [&](Duty duty) { of(duty).notify_one(); });
  }
  void wake(bool is_busy) {
    wake_workers();
    asleep_.wake_consumer(executor_, is_busy, [&] { consumer_.notify_one(); });
  }
  std::condition_variable& of(Duty duty) { return duty == Duty::io ? io_ : cpu_; }

  Executor& executor_;
  Team& team_;
  Steer& steer_;
  Trace* trace_;
  std::condition_variable io_, cpu_, resting_, consumer_;
  // Guarded by the executor's mutex.
  Asleep asleep_;
  Settings wanted_{0, 0, 0};
  size_t begun_cpu_ = 0, begun_io_ = 0, keep_scratch_ = 0, at_work_ = 0;
  bool stopping_ = false;
  const void* asked_by_ = nullptr;  // the worker that asked to stop from within its work
  Status failed_;                   // the error of that work
  const ReentrancyGuard::Crews around_ = ReentrancyGuard::all();
  std::vector<std::thread> threads_;
};

// Steps are the places where threads could interleave: take, run, finish, for each worker. Workers and the
// consumer sleep and are woken as with threads, so that a missing wake-up shows as a deadlock.
class VirtualCrew final : public Crew {
 public:
  VirtualCrew(Executor& executor, Team& team, Steer& steer, uint64_t seed)
      : executor_(executor), steer_(steer), state_(seed), settings_(steer.settings()) {
    const auto most = [&](Knob knob) { return may_turn(knob) ? kMost : settings_.of(knob); };
    for (size_t i = 0; i < most(Knob::io); ++i)
      actors_.push_back({&team.member(Duty::io, i), Duty::io, i, State::awake, {}});
    for (size_t i = 0; i < most(Knob::workers); ++i)
      actors_.push_back({&team.member(Duty::cpu, i), Duty::cpu, i, State::awake, {}});
    std::lock_guard lock(executor_.mutex());
    executor_.set_ring(settings_.ready);
  }
  ~VirtualCrew() override { stop(); }

  Pull next(Sample& out, Status& failure, std::optional<uint64_t>) override {
    if (stopped_) {
      failure = stopped();
      return Pull::error;
    }
    for (uint64_t ahead = random() % 8; ahead > 0; --ahead) step();  // workers run ahead of the consumer
    asleep_.is_patient = true;
    while (true) {
      const Pull pulled = executor_.poll(out, failure);
      asleep_.consumer = pulled == Pull::wait;
      if (asleep_.consumer || !executor_.has_plenty()) wake_workers();
      if (pulled != Pull::wait) return pulled;
      while (asleep_.consumer) {
        if (asleep_.is_patient && random() % 8 == 0) {
          asleep_.is_patient = asleep_.consumer = false;
          break;
        }
        if (step()) continue;
        failure = internal_error("deadlock: the consumer waits and no worker can proceed");
        return Pull::error;
      }
    }
  }

  void ask_to_stop() override { stopped_ = true; }
  void stop() override {
    for (Actor& actor : actors_) {
      if (actor.state == State::holds_work) run(actor);
      if (actor.state == State::has_run) executor_.finish(actor.work);
      actor.state = State::awake;
    }
    stopped_ = true;
  }

 private:
  static constexpr size_t kMost = 4;  // maximum of settings that may change
  enum class State : uint8_t { awake, asleep, resting, holds_work, has_run };
  struct Actor {
    Worker* worker;
    Duty duty;
    size_t number;
    State state;
    Work work;
  };

  // One step of a random actor that can move; false when none can.
  bool step() {
    if (random() % 64 == 0) turn();
    const size_t n = actors_.size(), first = random() % n;
    for (size_t i = 0; i < n; ++i) {
      Actor& actor = actors_[(first + i) % n];
      if (actor.state == State::asleep || actor.state == State::resting) continue;
      if (actor.state == State::awake) {
        look(actor);
      } else if (actor.state == State::holds_work) {
        run(actor);
      } else {
        executor_.finish(actor.work);
        actor.state = State::awake;
      }
      return true;
    }
    return false;
  }

  // Sets one of the numbers to a random permitted value.
  void turn() {
    const Knob knob = kKnobs[random() % kKnobs.size()];
    if (!may_turn(knob)) return;
    settings_.of(knob) = 1 + random() % kMost;
    std::lock_guard lock(executor_.mutex());
    executor_.set_ring(settings_.ready);
    for (Actor& actor : actors_)
      if (actor.state == State::resting) actor.state = State::awake;
  }
  bool may_turn(Knob knob) const { return steer_.tuner().limits().may_turn(knob); }

  void look(Actor& actor) {
    if (actor.number >= settings_.of(actor.duty == Duty::io ? Knob::io : Knob::workers)) {
      actor.state = State::resting;
      return wake(false);
    }
    const bool took = executor_.take(actor.duty, actor.work);
    actor.state = took ? State::holds_work : State::asleep;
    if (!took) ++asleep_.of(actor.duty);
    wake(took);
  }

  void run(Actor& actor) {
    actor.work.stage->run(actor.work, actor.worker->evaluator, actor.worker->counters);
    actor.worker->evaluator.scratch().clear();
    actor.worker->evaluator.scratch().trim(0);
    actor.state = State::has_run;
  }

  void wake(bool is_busy) {
    wake_workers();
    asleep_.wake_consumer(executor_, is_busy, [] {});
  }
  void wake_workers() {
    asleep_.wake_workers(executor_, [&](Duty duty) {
      const size_t n = actors_.size(), first = random() % n;
      for (size_t i = 0; i < n; ++i) {
        Actor& actor = actors_[(first + i) % n];
        if (actor.duty != duty || actor.state != State::asleep) continue;
        actor.state = State::awake;
        return;
      }
    });
  }

  uint64_t random() {  // splitmix64
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }

  Executor& executor_;
  Steer& steer_;
  uint64_t state_;
  Settings settings_;
  std::vector<Actor> actors_;
  Asleep asleep_;
  bool stopped_ = false;
};

}  // namespace

std::unique_ptr<Crew> threads_crew(Executor& executor, Team& team, Steer& steer, Trace* trace) {
  return std::make_unique<ThreadsCrew>(executor, team, steer, trace);
}

std::unique_ptr<Crew> virtual_crew(Executor& executor, Team& team, Steer& steer, uint64_t seed) {
  return std::make_unique<VirtualCrew>(executor, team, steer, seed);
}

}  // namespace headrace
