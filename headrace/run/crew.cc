#include "headrace/run/crew.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <thread>

#include "headrace/run/trace.h"

namespace headrace {
namespace {

uint64_t now_ns() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                               std::chrono::nanoseconds(1));
}

constexpr size_t kKeepScratch = size_t{8} << 20;  // bytes a worker keeps between samples

class ThreadsCrew final : public Crew {
 public:
  ThreadsCrew(Executor& executor, const std::vector<Worker*>& io, const std::vector<Worker*>& cpu,
              Trace* trace)
      : executor_(executor), trace_(trace) {
    size_t track = 0;
    for (Worker* w : cpu) threads_.emplace_back([this, w, t = track++] { work(*w, Duty::cpu, t); });
    for (Worker* w : io) threads_.emplace_back([this, w, t = track++] { work(*w, Duty::io, t); });
  }
  ~ThreadsCrew() override { stop(); }

  Pull next(Sample& out, Status& failure, std::optional<uint64_t> milliseconds) override {
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds.value_or(0));
    std::unique_lock lock(executor_.mutex());
    uint64_t begin = 0;
    while (!stopping_) {
      const Pull pulled = executor_.poll_locked(out, failure);
      consumer_.asleep = pulled == Pull::wait ? 1 : 0;
      wake();
      if (pulled != Pull::wait) {
        count_wait(begin);
        return pulled;
      }
      if (!begin) begin = now_ns();
      if (!milliseconds) {
        consumer_.wait(lock);
      } else if (!consumer_.wait_until(lock, deadline)) {
        count_wait(begin);
        return Pull::wait;
      }
    }
    failure = Status(Code::cancelled, "the run was stopped");
    return Pull::error;
  }

  void stop() override {
    {
      std::lock_guard lock(executor_.mutex());
      stopping_ = true;
    }
    for (Sleepers* sleepers : {&io_, &cpu_, &consumer_}) sleepers->changed.notify_all();
    for (std::thread& thread : threads_)
      if (thread.joinable()) thread.join();
  }

  uint64_t waited_ns() const override { return waited_ns_.load(); }

 private:
  // Threads of one kind that wait for something to do.
  struct Sleepers {
    std::condition_variable changed;
    size_t asleep = 0;  // nobody has called them yet
    void wait(std::unique_lock<std::mutex>& lock) { changed.wait(lock); }
    bool wait_until(std::unique_lock<std::mutex>& lock, std::chrono::steady_clock::time_point deadline) {
      return changed.wait_until(lock, deadline) != std::cv_status::timeout;
    }
    void call_one() {
      --asleep;
      changed.notify_one();
    }
  };

  // One turn of a worker is: report what was done, take the next, call those for whom there is something.
  void work(Worker& worker, Duty duty, size_t track) {
    Sleepers& mine = duty == Duty::io ? io_ : cpu_;
    Work work;
    std::unique_lock lock(executor_.mutex());
    while (true) {
      while (!stopping_ && !executor_.take_locked(duty, work)) {
        ++mine.asleep;
        wake();
        mine.wait(lock);
      }
      if (stopping_) return;
      wake();
      lock.unlock();
      const uint64_t begin = trace_ ? now_ns() : 0;
      try {
        work.stage->run(work, worker.evaluator, worker.counters);
      } catch (const std::exception& e) {  // out of memory beyond the budget, or a plug-in that throws
        work.result.status = internal_error(std::string("a worker stopped: ") + e.what());
      }
      worker.evaluator.scratch().clear();
      worker.evaluator.scratch().trim(kKeepScratch);
      if (trace_) trace_->add(track, begin, now_ns(), work);
      lock.lock();
      executor_.finish_locked(work);
    }
  }

  // Before the mutex is let go: whoever sleeps and has something to do now is called. One of a kind is
  // enough, for it looks again in its turn. Somebody who is awake already sees it without a call.
  void wake() {
    if (cpu_.asleep > 0 && executor_.has_work(Duty::cpu)) cpu_.call_one();
    if (io_.asleep > 0 && executor_.has_work(Duty::io)) io_.call_one();
    if (consumer_.asleep > 0 && executor_.has_news()) consumer_.call_one();
  }

  void count_wait(uint64_t begin) {
    if (begin) waited_ns_.store(waited_ns_.load() + now_ns() - begin);
  }

  Executor& executor_;
  Trace* trace_;
  Sleepers io_, cpu_, consumer_;  // guarded by the executor's mutex
  bool stopping_ = false;         // guarded by it too
  std::atomic<uint64_t> waited_ns_{0};
  std::vector<std::thread> threads_;
};

// Steps are the places where threads could interleave: take, run, finish, for each worker.
class VirtualCrew final : public Crew {
 public:
  VirtualCrew(Executor& executor, const std::vector<Worker*>& io, const std::vector<Worker*>& cpu,
              uint64_t seed)
      : executor_(executor), state_(seed) {
    for (Worker* w : io) actors_.push_back({w, Duty::io, 0, {}});
    for (Worker* w : cpu) actors_.push_back({w, Duty::cpu, 0, {}});
  }
  ~VirtualCrew() override { stop(); }

  Pull next(Sample& out, Status& failure, std::optional<uint64_t>) override {
    if (stopped_) {
      failure = Status(Code::cancelled, "the run was stopped");
      return Pull::error;
    }
    for (uint64_t ahead = random() % 8; ahead > 0; --ahead) step();  // workers run ahead of the consumer
    while (true) {
      const Pull pulled = executor_.poll(out, failure);
      if (pulled != Pull::wait) return pulled;
      if (!step()) {
        failure = internal_error("deadlock: the consumer waits and no worker can move");
        return Pull::error;
      }
    }
  }

  void stop() override {
    for (Actor& actor : actors_) {
      if (actor.stage == 1) actor.worker->evaluator.scratch().clear();
      if (actor.stage > 0) {
        if (actor.stage == 1)
          actor.work.stage->run(actor.work, actor.worker->evaluator, actor.worker->counters);
        executor_.finish(actor.work);
      }
      actor.stage = 0;
    }
    stopped_ = true;
  }
  uint64_t waited_ns() const override { return 0; }

 private:
  struct Actor {
    Worker* worker;
    Duty duty;
    int stage;  // 0 idle, 1 holds work, 2 has run it
    Work work;
  };

  // One step of a random actor that can move; false when none can.
  bool step() {
    const size_t n = actors_.size(), first = random() % n;
    for (size_t i = 0; i < n; ++i) {
      Actor& actor = actors_[(first + i) % n];
      if (actor.stage == 0) {
        if (!executor_.take(actor.duty, actor.work)) continue;
      } else if (actor.stage == 1) {
        actor.work.stage->run(actor.work, actor.worker->evaluator, actor.worker->counters);
        actor.worker->evaluator.scratch().clear();
        actor.worker->evaluator.scratch().trim(0);
      } else {
        executor_.finish(actor.work);
      }
      actor.stage = (actor.stage + 1) % 3;
      return true;
    }
    return false;
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
