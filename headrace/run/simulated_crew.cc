#include "headrace/run/simulated_crew.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>

#include "headrace/core/stop_flag.h"

namespace headrace {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kAlmost = 1e-3;  // ns: what is left of a step that is done

// What a step waits for. Steps of one resource share it, but for delays, which pass for all.
enum class Resource : uint8_t { delay, cores, python, store };
struct Step {
  Resource resource = Resource::delay;
  double left = 0;  // ns alone; of the store: bytes
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
    steer_.begin(now_ns(), team_);
    executor_.set_ring(steer_.settings().ready);
  }
  ~Simulation() override { stop(); }

  Pull next(Sample& out, Status& failure, std::optional<uint64_t>) override {
    if (stopped_) {
      failure = stopped();
      return Pull::error;
    }
    work_until(now_ + machine_.consumer_ns);  // the consumer is at work
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
      failure = internal_error("deadlock: the consumer waits and no worker can move");
      return Pull::error;
    }
  }

  void stop() override {
    for (Job& job : jobs_)
      if (job.busy) executor_.finish(job.work), job.busy = false;
    std::lock_guard lock(executor_.mutex());
    if (!stopped_) steer_.end(now_ns(), executor_, team_);
    stopped_ = true;
  }

 private:
  uint64_t now_ns() const { return static_cast<uint64_t>(now_); }

  struct Job {
    Duty duty;
    size_t number;
    bool busy = false;
    Work work;
    std::deque<Step> steps;
    double began = 0;
  };

  // Everybody who is wanted and idle takes work, if there is some.
  void hire() {
    const Settings& settings = steer_.settings();
    for (const auto [duty, wanted] :
         {std::pair{Duty::io, settings.io}, std::pair{Duty::cpu, settings.workers}}) {
      while (begun_[static_cast<size_t>(duty)] < wanted)
        jobs_.push_back({duty, begun_[static_cast<size_t>(duty)]++, false, {}, {}, 0});
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
    job.busy = true, job.began = now_;
    job.steps.clear();
    job.work.busy_ns = job.work.python_ns = job.work.reading_ns = 0;
    if (job.work.io) {
      const auto num_reads = static_cast<double>(worker.counters.io_reads.get() - reads);
      job.steps.push_back(
          {Resource::delay, num_reads * machine_.latency_ns * (1 + machine_.jitter * (random() - 0.5))});
      if (machine_.bytes_per_s > 0)
        job.steps.push_back({Resource::store, static_cast<double>(worker.counters.io_bytes.get() - bytes)});
    } else if (job.work.part != Work::kFinish) {
      const auto rows = static_cast<double>(job.work.ticket->parts[job.work.part].count);
      double cpu = rows * machine_.cpu_ns;
      if (machine_.slow_one_in > 0)
        for (double row = 0; row < rows; ++row)
          if (random() * machine_.slow_one_in < 1) cpu += machine_.cpu_ns * (machine_.slow_times - 1);
      job.steps.push_back({Resource::cores, cpu});
      job.steps.push_back({Resource::python, rows * machine_.python_ns});
      job.steps.push_back({Resource::delay, rows * machine_.sleep_ns});
    }
    for (const Step& step : job.steps) {
      if (step.resource == Resource::cores || step.resource == Resource::python)
        job.work.busy_ns += static_cast<uint64_t>(step.left);
      if (step.resource == Resource::python) job.work.python_ns += static_cast<uint64_t>(step.left);
    }
    drop_done(job);
  }

  static void drop_done(Job& job) {
    while (!job.steps.empty() && job.steps.front().left <= kAlmost) job.steps.pop_front();
  }

  // How much of a step of each resource is done in a ns. Whoever holds the interpreter's lock is on a core.
  std::array<double, 4> speeds() const {
    std::array<double, 4> users{};
    for (const Job& job : jobs_)
      if (job.busy && !job.steps.empty()) users[static_cast<size_t>(job.steps.front().resource)] += 1;
    auto& [delay, cores, python, store] = users;
    std::array<double, 4> out{1, 1, 0, 0};
    const double running = cores + (python > 0 ? 1 : 0);
    const double share = running > 0 ? std::min(1.0, static_cast<double>(machine_.cores) / running) : 1;
    out[1] = share;
    out[2] = python > 0 ? share / python : 0;
    out[3] = store > 0 ? machine_.bytes_per_s * 1e-9 / store : 0;
    return out;
  }

  // To the next moment at which somebody is done, or to `until` if that is earlier. False: nobody works.
  bool advance(double until) {
    const auto speed = speeds();
    double passes = until - now_;
    bool any = false;
    for (const Job& job : jobs_) {
      if (!job.busy) continue;
      any = true;
      if (job.steps.empty())
        passes = 0;
      else
        passes =
            std::min(passes, job.steps.front().left / speed[static_cast<size_t>(job.steps.front().resource)]);
    }
    if (!std::isfinite(passes)) return false;
    now_ += passes;
    for (Job& job : jobs_) {
      if (!job.busy || job.steps.empty()) continue;
      job.steps.front().left -= passes * speed[static_cast<size_t>(job.steps.front().resource)];
      drop_done(job);
    }
    for (Job& job : jobs_)
      if (job.busy && job.steps.empty()) finish(job);
    return any || passes > 0;
  }

  void finish(Job& job) {
    const auto took = static_cast<uint64_t>(now_ - job.began);
    if (job.work.io) job.work.reading_ns = took;
    std::lock_guard lock(executor_.mutex());
    steer_.worked(job.work, took, executor_);
    executor_.finish_locked(job.work);
    job.busy = false;
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
  double now_;
  uint64_t state_ = 1;
  std::array<size_t, 2> begun_{};
  std::deque<Job> jobs_;
  bool stopped_ = false;
};

}  // namespace

std::unique_ptr<Crew> simulated_crew(Executor& executor, Team& team, Steer& steer,
                                     SimulatedMachine& machine) {
  return std::make_unique<Simulation>(executor, team, steer, machine);
}

}  // namespace headrace
