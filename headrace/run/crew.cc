#include "headrace/run/crew.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <thread>

#include "headrace/core/stop_flag.h"
#include "headrace/run/machine.h"
#include "headrace/run/trace.h"

namespace headrace {
namespace {

constexpr uint64_t kLookAtCoresNs = 50'000'000;             // a look is a system call
constexpr auto kPatience = std::chrono::microseconds(500);  // of a consumer, before any news will do

// Who sleeps and was not called yet. Looked at before the mutex is let go: whoever has something to do now is
// called. One of a kind is enough, for it looks again in its turn, and who is awake sees it without a call.
struct Asleep {
  size_t cpu = 0, io = 0;
  bool consumer = false, is_patient = false;
  size_t& of(Duty duty) { return duty == Duty::io ? io : cpu; }

  template <class Call> void wake_workers(const Executor& executor, Call call) {
    for (const Duty duty : {Duty::cpu, Duty::io})
      if (of(duty) > 0 && executor.has_work(duty)) --of(duty), call(duty);
  }
  // Not for the consumer itself: it has just looked, and would call nobody. Who is busy calls a patient one
  // for many news only: to be woken costs more than a tiny batch does.
  template <class Call> void wake_consumer(const Executor& executor, bool is_busy, Call call) {
    if (!consumer) return;
    if (is_busy && is_patient ? executor.has_many_news() : executor.has_news()) consumer = false, call();
  }
};

class ThreadsCrew final : public Crew {
 public:
  ThreadsCrew(Executor& executor, const std::vector<Worker*>& io, const std::vector<Worker*>& cpu,
              Trace* trace)
      : executor_(executor), trace_(trace), keep_scratch_(executor.scratch_to_keep(io.size() + cpu.size())) {
    size_t track = 0;
    for (Worker* w : cpu) threads_.emplace_back([this, w, t = track++] { work(*w, Duty::cpu, t); });
    for (Worker* w : io) threads_.emplace_back([this, w, t = track++] { work(*w, Duty::io, t); });
  }
  ~ThreadsCrew() override { stop(); }

  Pull next(Sample& out, Status& failure, std::optional<uint64_t> milliseconds) override {
    std::chrono::steady_clock::time_point deadline;
    std::unique_lock lock(executor_.mutex());
    uint64_t begin = 0;
    asleep_.is_patient = true;
    while (!stopping_) {
      const Pull pulled = executor_.poll_locked(out, failure);
      asleep_.consumer = pulled == Pull::wait;
      if (asleep_.consumer || !executor_.has_plenty()) wake_workers();
      if (pulled != Pull::wait) {
        count_wait(begin);
        return pulled;
      }
      if (!begin) {
        begin = now_ns();
        deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds.value_or(0));
      }
      if (asleep_.is_patient) {
        asleep_.is_patient = consumer_.wait_for(lock, kPatience) == std::cv_status::no_timeout;
      } else if (!milliseconds) {
        consumer_.wait(lock);
      } else if (consumer_.wait_until(lock, deadline) == std::cv_status::timeout) {
        count_wait(begin);
        return Pull::wait;
      }
    }
    failure = stopped();
    return Pull::error;
  }

  void stop() override {
    {
      std::lock_guard lock(executor_.mutex());
      stopping_ = true;
    }
    for (std::condition_variable* who : {&io_, &cpu_, &consumer_}) who->notify_all();
    for (std::thread& thread : threads_)
      if (thread.joinable()) thread.join();
  }

  uint64_t waited_ns() const override { return waited_ns_.load(); }

 private:
  // One turn of a worker is: report what was done, take the next, call those for whom there is something.
  void work(Worker& worker, Duty duty, size_t track) {
    Work work;
    std::optional<CoreWait> core_wait;  // of those who compute
    if (duty == Duty::cpu) core_wait.emplace();
    uint64_t looked = now_ns();
    std::unique_lock lock(executor_.mutex());
    while (true) {
      while (!stopping_ && !executor_.take_locked(duty, work)) {
        ++asleep_.of(duty);
        wake(false);
        of(duty).wait(lock);
      }
      if (stopping_) break;
      wake(true);
      lock.unlock();
      const uint64_t begin = now_ns();
      if (begin - looked > kLookAtCoresNs) {
        looked = begin;
        if (core_wait) worker.counters.core_wait_ns.add(core_wait->since_last());
      }
      try {
        work.stage->run(work, worker.evaluator, worker.counters);
      } catch (const std::exception& e) {  // out of memory beyond the budget, or a plug-in that throws
        work.result.status = internal_error(std::string("a worker stopped: ") + e.what());
      }
      worker.evaluator.scratch().clear();
      worker.evaluator.scratch().trim(keep_scratch_);
      if (trace_) trace_->add(track, begin, now_ns(), work);
      lock.lock();
      executor_.finish_locked(work);
    }
    lock.unlock();
    if (core_wait) worker.counters.core_wait_ns.add(core_wait->since_last());
  }

  void wake_workers() {
    asleep_.wake_workers(executor_, [&](Duty duty) { of(duty).notify_one(); });
  }
  void wake(bool is_busy) {
    wake_workers();
    asleep_.wake_consumer(executor_, is_busy, [&] { consumer_.notify_one(); });
  }
  std::condition_variable& of(Duty duty) { return duty == Duty::io ? io_ : cpu_; }

  void count_wait(uint64_t begin) {
    if (begin) waited_ns_.store(waited_ns_.load() + now_ns() - begin);
  }

  Executor& executor_;
  Trace* trace_;
  const size_t keep_scratch_;
  std::condition_variable io_, cpu_, consumer_;
  Asleep asleep_;          // guarded by the executor's mutex
  bool stopping_ = false;  // guarded by it too
  std::atomic<uint64_t> waited_ns_{0};
  std::vector<std::thread> threads_;
};

// Steps are the places where threads could interleave: take, run, finish, for each worker. Workers and the
// consumer sleep and are called as among threads, so that a call that nobody makes shows as a deadlock.
class VirtualCrew final : public Crew {
 public:
  VirtualCrew(Executor& executor, const std::vector<Worker*>& io, const std::vector<Worker*>& cpu,
              uint64_t seed)
      : executor_(executor), state_(seed) {
    for (Worker* w : io) actors_.push_back({w, Duty::io, State::awake, {}});
    for (Worker* w : cpu) actors_.push_back({w, Duty::cpu, State::awake, {}});
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
        failure = internal_error("deadlock: the consumer waits and no worker can move");
        return Pull::error;
      }
    }
  }

  void stop() override {
    for (Actor& actor : actors_) {
      if (actor.state == State::holds_work) run(actor);
      if (actor.state == State::has_run) executor_.finish(actor.work);
      actor.state = State::awake;
    }
    stopped_ = true;
  }
  uint64_t waited_ns() const override { return 0; }

 private:
  enum class State : uint8_t { awake, asleep, holds_work, has_run };
  struct Actor {
    Worker* worker;
    Duty duty;
    State state;
    Work work;
  };

  // One step of a random actor that can move; false when none can.
  bool step() {
    const size_t n = actors_.size(), first = random() % n;
    for (size_t i = 0; i < n; ++i) {
      Actor& actor = actors_[(first + i) % n];
      if (actor.state == State::asleep) continue;
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

  void look(Actor& actor) {
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
  uint64_t state_;
  std::vector<Actor> actors_;
  Asleep asleep_;
  bool stopped_ = false;
};

}  // namespace

std::unique_ptr<Crew> threads_crew(Executor& executor, std::vector<Worker*> io, std::vector<Worker*> cpu,
                                   Trace* trace) {
  return std::make_unique<ThreadsCrew>(executor, io, cpu, trace);
}

std::unique_ptr<Crew> virtual_crew(Executor& executor, std::vector<Worker*> io, std::vector<Worker*> cpu,
                                   uint64_t seed) {
  return std::make_unique<VirtualCrew>(executor, io, cpu, seed);
}

}  // namespace headrace
