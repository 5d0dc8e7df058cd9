// Reads a run's gauges, passes them to the tuner at the end of each interval, and keeps them for the report.
// It has no thread: a worker that has finished a part checks whether an interval is over. Times are
// arguments, so that a simulated run is steered by the same code.
//
// Guarded by the executor's mutex.
#pragma once
#include <optional>
#include <vector>

#include "headrace/core/value.h"
#include "headrace/run/engine/executor.h"
#include "headrace/run/engine/team.h"
#include "headrace/tune/tuner.h"

namespace headrace {

class Steer {
 public:
  // CPU time of the whole process, and of all processes; null: not available, as in simulated time. `usable`:
  // CPU time available per second; 0: that of all cores. `cores`: the cores covered by `machine_ns`.
  struct CpuTimes {
    uint64_t (*process_ns)() = nullptr;
    uint64_t (*machine_ns)() = nullptr;
    double usable = 0;
    size_t cores = 0;
  };
  // `batched`: a sample is a row of an element.
  Steer(Settings start, SettingLimits limits, size_t cores, bool batched, CpuTimes cpu_times);

  // An iteration begins or ends.
  void begin(uint64_t now, const Executor& executor, const Team& team);
  void end(uint64_t now, const Executor& executor, const Team& team);

  // A reader takes work, at Work::taken_ns.
  void took(const Work& work) { ++open_.reads, open_.taken_ns += work.taken_ns; }
  // A worker spent `occupied_ns` on this; call it before Executor::finish().
  void worked(const Work& work, uint64_t occupied_ns, const Executor& executor);
  void delivered(const Sample& element);
  void consumer_waits(uint64_t since) { waits_since_ = since; }
  void consumer_waited(uint64_t until);
  // Over all iterations.
  uint64_t waited_ns(uint64_t now) const;

  // New settings, if an interval is over and the tuner changes them.
  std::optional<Settings> look(uint64_t now, const Executor& executor, const Team& team);

  const Settings& settings() const { return tuner_.settings(); }
  const Tuner& tuner() const { return tuner_; }
  size_t cores() const { return cores_; }
  // Recent measurements under the current settings.
  Gauge lately(uint64_t now, const Executor& executor, const Team& team) const;
  // For the report. `alone`: the caller is the only worker.
  Value history(bool alone) const;
  Value decisions() const;  // for the report

 private:
  struct Sums {
    uint64_t rows = 0, elements = 0, samples = 0, parts = 0;
    uint64_t waited = 0, occupied = 0, busy = 0, lacked = 0, process = 0, in_python = 0, reading = 0,
             reading_cpu = 0, reading_lacked = 0, reading_in_python = 0;
    uint64_t reads = 0, bytes = 0, starved = 0, rows_read = 0, parts_read = 0;
    int64_t reading_open = 0;
  };
  struct Moment {
    double at_s = 0;
    Gauge gauge;
  };
  Sums sums(uint64_t now, const Executor& executor, const Team& team) const;
  Gauge gauge(const Sums& from, const Sums& to, uint64_t ns, const Executor& executor) const;
  Gauge close_interval(uint64_t now, const Sums& sums_now, const Executor& executor);
  void remember(const Gauge& gauge);
  void look_at_others(uint64_t now);
  bool is_over(uint64_t ns) const;
  bool reads_decide(uint64_t now, const Executor& executor, const Team& team);
  bool is_pause(uint64_t quiet_ns, uint64_t waited_ns);
  void begin_anew(uint64_t now, const Executor& executor, const Team& team);

  Tuner tuner_;
  size_t cores_;
  bool batched_;
  CpuTimes cpu_times_;
  Sums now_, then_, at_end_;  // counted here, at the interval's beginning, and when the last iteration ended
  uint64_t began_ns_ = 0;     // of the interval
  uint64_t ended_ns_ = 0;     // of the last iteration; 0: there was none
  uint64_t checked_ns_ = 0;   // when it was last checked whether the interval is over,
  uint64_t read_ns_ = 0;      // or whether reads decide it
  uint64_t waited_then_ = 0;  // how long the consumer had waited by then
  uint64_t usual_step_ns_ = 0;
  uint64_t waits_since_ = 0;  // since when the consumer waits; 0: it does not wait
  double at_s_ = 0;           // time of the run so far, without pauses
  bool under_way_ = false;
  struct {
    uint64_t reads = 0, taken_ns = 0;
  } open_;  // parts being read, and the sum of when they were taken
  struct {
    uint64_t at_ns = 0, process_ns = 0, machine_ns = 0;
    double cores = -1;
    uint64_t next_ns = 0;  // not again before this time
  } others_;               // the last measurement of other processes
  Gauge lately_, older_;
  std::vector<Moment> history_;
  size_t in_last_ = 0, per_moment_ = 1;  // intervals in the last moment, and in each
};

}  // namespace headrace
