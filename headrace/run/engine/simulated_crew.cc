#include "headrace/run/engine/simulated_crew.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <vector>

#include "headrace/core/stop_flag.h"

namespace headrace {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kAlmost = 1e-3;  // ns: what is left of a step that is done

// What a step needs: only time, or its turn at a resource that serves a limited number at once, first come
// first served.
enum class Resource : uint8_t { delay, cores, python, store };
constexpr size_t kResources = 4;
struct Step {
  Resource resource = Resource::delay;
  double left = 0;  // ns without others; for the store: bytes
};

class Simulation final : public Crew {
 public:
  Simulation(Executor& executor, Team& team, Steer& steer, SimulatedMachine& machine)
      : executor_(executor),
        team_(team),
        steer_(steer),
        machine_(machine),
        now_(static_cast<double>(machine.now_ns)) {
    std::lock_guard lock(executor_.mutex());
    steer_.begin(now_ns(), executor_, team_);
    executor_.set_ring(steer_.settings().ready);
  }
  ~Simulation() override { stop(); }

  Pull next(Sample& out, Status& failure, std::optional<uint64_t>) override {
    if (stopped_) {
      failure = stopped();
      return Pull::error;
    }
    work_until(now_ + machine_.consumer_ns);  // the consumer works
    if (machine_.pause_every > 0 && ++taken_ % machine_.pause_every == 0)
      work_until(now_ + machine_.pause_ns);
    std::unique_lock lock(executor_.mutex(), std::defer_lock);
    bool waits = false;
    while (true) {
      hire();
      lock.lock();
      const Pull pulled = executor_.poll_locked(out, failure);
      machine_.now_ns = now_ns();
      if (pulled != Pull::wait) {
        if (waits) steer_.consumer_waited(now_ns());
        if (pulled == Pull::item) steer_.delivered(out);
        return pulled;
      }
      if (!waits) steer_.consumer_waits(now_ns()), waits = true;
      lock.unlock();
      hire();
      if (advance(kNever)) continue;
      failure = internal_error("deadlock: the consumer waits and no worker can proceed");
      return Pull::error;
    }
  }

  void ask_to_stop() override {
    std::lock_guard lock(executor_.mutex());
    if (!stopped_) steer_.end(now_ns(), executor_, team_);
    stopped_ = true;
  }
  void stop() override {
    ask_to_stop();
    for (Job& job : jobs_)
      if (job.busy) executor_.finish(job.work), job.busy = false;
    queues_ = {};
  }

 private:
  uint64_t now_ns() const { return static_cast<uint64_t>(now_); }

  struct Job {
    Duty duty;
    size_t number;
    bool busy = false;
    Work work = {};
    std::deque<Step> steps = {};
    double began = 0, ended = -1;
    double lacked = 0;  // ns without a core
  };

  // Every idle worker within the settings takes work, if there is some.
  void hire() {
    const Settings& settings = steer_.settings();
    for (const auto& [duty, wanted] :
         {std::pair{Duty::io, settings.io}, std::pair{Duty::cpu, settings.workers}}) {
      while (begun_[static_cast<size_t>(duty)] < wanted)
        jobs_.push_back({duty, begun_[static_cast<size_t>(duty)]++});
      for (Job& job : jobs_) {
        if (job.duty != duty || job.busy || job.number >= wanted) continue;
        if (!executor_.take(duty, job.work)) break;
        begin(job);
      }
    }
  }

  void begin(Job& job) {
    Worker& worker = team_.member(job.duty, job.number);
    const uint64_t bytes = worker.counters.io_bytes.get(), reads = worker.counters.io_reads.get();
    job.work.stage->run(job.work, worker.evaluator, worker.counters);
    worker.evaluator.scratch().clear();
    const bool slept = job.ended < now_;
    job.busy = true, job.began = now_, job.lacked = 0;
    if (job.work.io) job.work.taken_ns = now_ns(), steer_.took(job.work);
    job.steps.clear();
    job.work.busy_ns = job.work.python_ns = job.work.reading_ns = 0;
    if (job.work.io) {
      const auto num_reads = static_cast<double>(worker.counters.io_reads.get() - reads);
      job.steps.push_back(
          {Resource::delay, num_reads * machine_.latency_ns * (1 + machine_.jitter * (random() - 0.5))});
      if (machine_.bytes_per_s > 0)
        job.steps.push_back({Resource::store, static_cast<double>(worker.counters.io_bytes.get() - bytes)});
      if (num_reads > 0) wake_up(job);
      const auto rows = static_cast<double>(job.work.ticket->parts[job.work.part].count);
      job.steps.push_back({Resource::cores, rows * machine_.unpack_ns});
    } else if (job.work.part != Work::kFinish) {
      const auto rows = static_cast<double>(job.work.ticket->parts[job.work.part].count);
      if (slept) wake_up(job);
      double cpu = rows * machine_.cpu_ns;
      if (machine_.slow_one_in > 0)
        for (double row = 0; row < rows; ++row)
          if (random() * machine_.slow_one_in < 1) cpu += machine_.cpu_ns * (machine_.slow_times - 1);
      job.steps.push_back({Resource::cores, cpu});
      job.steps.push_back({Resource::python, rows * machine_.python_ns});
      job.steps.push_back({Resource::delay, rows * machine_.sleep_ns});
    }
    for (Step& step : job.steps) {
      if (step.resource == Resource::cores || step.resource == Resource::python)
        job.work.busy_ns += static_cast<uint64_t>(step.left);
      if (step.resource == Resource::python) job.work.python_ns += static_cast<uint64_t>(step.left);
      if (step.resource == Resource::cores) share_core(job, step);
    }
    queue_up(job);
  }

  // Other programs on all cores keep a thread that wakes up waiting, and get their share while it computes.
  void wake_up(Job& job) {
    if (machine_.others < machine_.cores) return;
    job.steps.push_back({Resource::delay, machine_.slice_ns * random()});
    job.lacked += job.steps.back().left;
  }
  void share_core(Job& job, Step& step) const {
    const double more =
        step.left * static_cast<double>(machine_.others) / static_cast<double>(machine_.cores);
    step.left += more, job.lacked += more;
  }

  // At the end of the queue of the resource that its next step needs.
  void queue_up(Job& job) {
    while (!job.steps.empty() && job.steps.front().left <= kAlmost) job.steps.pop_front();
    if (!job.steps.empty()) queues_[static_cast<size_t>(job.steps.front().resource)].push_back(&job);
  }

  // How many of a queue are served at a time. A thread that holds the GIL occupies a core.
  size_t servers(Resource resource) const {
    const size_t python = queues_[static_cast<size_t>(Resource::python)].empty() ? 0 : 1;
    switch (resource) {
      case Resource::delay: return ~size_t{0};
      case Resource::cores: return std::max(machine_.cores, python + 1) - python;
      case Resource::python:
      case Resource::store: break;
    }
    return 1;
  }
  // Progress of a served step per ns.
  double speed(Resource resource) const {
    return resource == Resource::store ? machine_.bytes_per_s * 1e-9 : 1;
  }

  template <class F> void each_served(F&& f) {
    for (size_t r = 0; r < kResources; ++r) {
      const auto resource = static_cast<Resource>(r);
      const size_t count = std::min(queues_[r].size(), servers(resource));
      for (size_t i = 0; i < count; ++i) f(*queues_[r][i], speed(resource));
    }
  }

  // Advances to the next moment at which a step is done, or to `until` if that is earlier. False: no work.
  bool advance(double until) {
    double passes = until - now_;
    each_served(
        [&](const Job& job, double speed) { passes = std::min(passes, job.steps.front().left / speed); });
    for (const Job& job : jobs_)
      if (job.busy && job.steps.empty()) passes = 0;
    if (!std::isfinite(passes)) return false;
    now_ += passes;
    std::vector<Job*> further;
    each_served([&](Job& job, double speed) {
      job.steps.front().left -= passes * speed;
      if (job.steps.front().left <= kAlmost) further.push_back(&job);
    });
    for (Job* job : further) {
      std::erase(queues_[static_cast<size_t>(job->steps.front().resource)], job);
      queue_up(*job);
    }
    for (Job& job : jobs_)
      if (job.busy && job.steps.empty()) finish(job);
    return true;
  }

  void finish(Job& job) {
    const auto took = static_cast<uint64_t>(now_ - job.began);
    Counters& counters = team_.member(job.duty, job.number).counters;
    if (job.duty == Duty::cpu)
      counters.core_wait_ns.add(static_cast<uint64_t>(job.lacked));
    else if (job.number < machine_.cores)  // as with threads, of which no more are watched
      counters.reading_core_wait_ns.add(static_cast<uint64_t>(job.lacked));
    if (job.work.io) job.work.reading_ns = took;
    std::lock_guard lock(executor_.mutex());
    steer_.worked(job.work, took, executor_);
    executor_.finish_locked(job.work);
    job.busy = false, job.ended = now_;
    if (const auto settings = steer_.look(now_ns(), executor_, team_)) executor_.set_ring(settings->ready);
  }

  void work_until(double until) {
    while (now_ < until) {
      hire();
      if (!advance(until)) break;
    }
    now_ = std::max(now_, until);
  }

  double random() {  // splitmix64, below 1
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1p-53;
  }

  Executor& executor_;
  Team& team_;
  Steer& steer_;
  SimulatedMachine& machine_;
  uint64_t taken_ = 0;  // elements, by the consumer
  double now_;
  uint64_t state_ = 1;
  std::array<size_t, 2> begun_{};
  std::deque<Job> jobs_;
  std::array<std::deque<Job*>, kResources> queues_;  // by resource, in order of arrival
  bool stopped_ = false;
};

}  // namespace

std::unique_ptr<Crew> simulated_crew(Executor& executor, Team& team, Steer& steer,
                                     SimulatedMachine& machine) {
  return std::make_unique<Simulation>(executor, team, steer, machine);
}

}  // namespace headrace
