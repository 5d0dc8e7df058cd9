#include "headrace/tune/model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace headrace {
namespace {

constexpr double kHardlyWaits = 0.05;  // share of the time
constexpr double kFull = 0.8;          // a kind of server that is occupied this much sets the pace
constexpr double kWakeS = 5e-6;        // to pass a part from one thread to another
constexpr double kMostReads = 4096;    // in flight, as given
constexpr double kMostTunedReads = 256;

// A quota may be a fraction of a core.
double cpu_of(const Gauge& g, size_t cores) {
  const auto all = static_cast<double>(std::max<size_t>(1, cores));
  return g.usable > 0 ? std::min(g.usable, all) : all;
}

// CPU time used by other processes, in cores. Child processes of this run's functions are not counted:
// workers count their time as their own. 0 where unknown.
double others_of(const Gauge& g) {
  const double children = g.process > 0 ? std::max(0.0, g.cores_used() - g.process / g.seconds) : 0;
  return std::max(0.0, g.others - children);
}

// The cores left by other processes, at most what this process may use.
double free_cpu_of(const Gauge& g, size_t cores) {
  const double all = std::max(static_cast<double>(g.machine), cpu_of(g, cores));
  return std::clamp(all - others_of(g), 0.01, cpu_of(g, cores));
}

double ratio(double a, double b) { return b > 0 ? a / b : Model::kNoBound; }

}  // namespace

Gauge& Gauge::operator+=(const Gauge& later) {
  seconds += later.seconds, rows += later.rows, parts += later.parts, samples += later.samples;
  elements += later.elements, waited += later.waited;
  occupied += later.occupied, busy += later.busy, lacked += later.lacked, process += later.process,
      in_python += later.in_python;
  reading += later.reading, reading_cpu += later.reading_cpu;
  reading_lacked += later.reading_lacked, reading_in_python += later.reading_in_python;
  reading_open += later.reading_open;
  reads += later.reads, bytes += later.bytes;
  rows_read += later.rows_read, parts_read += later.parts_read;
  queued = later.queued, parts_each = later.parts_each;
  worker_time += later.worker_time, reader_time += later.reader_time;
  if (later.others >= 0) others = later.others;
  machine = later.machine, fixed = later.fixed;
  usable = later.usable;
  settings = later.settings, memory = later.memory, budget = later.budget;
  starved = starved || later.starved;
  return *this;
}

std::span<const std::string_view> limit_names() {
  static constexpr std::array<std::string_view, 12> names{
      "unknown", "cpu",   "store latency",       "store bandwidth", "consumer", "python",
      "memory",  "cores", "functions that wait", "workers",         "readers",  "caller"};
  return names;
}

std::string_view limit_name(Limit limit) { return limit_names()[static_cast<size_t>(limit)]; }

namespace {

// Whether Python functions hold the GIL, so that only one thread at a time runs them. Functions that use more
// time than one thread has do not hold it all the time, nor do functions that hardly wait for one another.
bool holds_lock(const Gauge& g) {
  const double python = g.python_share();
  if (python >= 1.1) return false;
  const auto others = [](size_t threads) {
    return 1 - 1 / static_cast<double>(std::max<size_t>(1, threads));
  };
  const double waits =
      (g.in_python > 0 ? g.occupied - g.busy : 0) + (g.reading_in_python > 0 ? g.reading - g.reading_cpu : 0);
  const double waits_if_held =
      0.5 * python * (others(g.settings.workers) * g.in_python + others(g.settings.io) * g.reading_in_python);
  return python < 0.3 || waits >= 0.3 * waits_if_held;
}

// The share of the time of a kind of thread in which they were runnable without a core.
double lacked_share(const Gauge& g) {
  const auto readers = static_cast<double>(std::max<size_t>(1, g.settings.io));
  return std::max(g.lacked / static_cast<double>(g.settings.workers), g.reading_lacked / readers) / g.seconds;
}

// The share of the cores that other processes take from this one, not counting idle cores.
double taken_share(const Gauge& g, size_t cores) {
  const double all = cpu_of(g, cores), not_own = std::max(0.0, 1 - g.own_cores_used() / all);
  return g.others < 0 ? not_own : std::min(not_own, others_of(g) / all);
}

}  // namespace

Model Model::of(const Gauge& g, size_t cores, const Tried& tried) {
  Model out;
  const auto rows = static_cast<double>(g.rows);
  if (rows <= 0 || g.seconds <= 0) return out;
  out.rate = g.rate();
  // The consumer's work for a row takes a core, too.
  out.by_cores = ratio(rows * cpu_of(g, cores), g.own_cores_used() * g.seconds);
  out.by_workers = ratio(rows * static_cast<double>(g.settings.workers), g.occupied);
  out.by_brisk = ratio(rows * static_cast<double>(g.settings.workers), g.occupied - 0.5 * g.stalled());
  out.by_readers = ratio(rows * static_cast<double>(g.settings.io), g.reading);
  out.by_quick_store = ratio(rows * static_cast<double>(g.settings.io), g.reading - 0.5 * g.store_waits());
  out.by_bandwidth = tried.bandwidth, out.readers_in_vain = tried.readers_in_vain;
  out.no_room = tried.no_room;
  if (g.python_share() > 0.02 && holds_lock(g)) out.by_python = out.rate / g.python_share();
  const double own = g.seconds - g.waited;
  out.by_consumer = ratio(rows, std::max(0.0, own));
  if (!g.functions_wait()) out.if_by_workers = Limit::workers;
  if (g.readers_compute()) out.if_by_readers = Limit::readers;
  const Limit limit = limit_of(g, out, cores);
  if (limit == Limit::memory) out.by_memory = out.rate;
  out.waits_in_functions = limit == Limit::functions;
  if (limit == Limit::cores) out.taken = taken_share(g, cores);
  return out;
}

double Model::predict(const Settings& from, const Settings& to) const {
  const double workers = by_workers * static_cast<double>(to.workers) / static_cast<double>(from.workers);
  const double readers = by_readers * static_cast<double>(to.io) / static_cast<double>(from.io);
  return std::min({workers, by_cores, std::min(readers, by_bandwidth), by_python, by_consumer});
}

Limit limit_of(const Gauge& g, const Model& model, size_t cores) {
  if (g.rows == 0 || g.seconds <= 0) return Limit::unknown;
  if (g.wait_share() < kHardlyWaits) return Limit::consumer;
  const double workers = g.workers_occupied() / static_cast<double>(g.settings.workers);
  const double readers = g.readers_occupied() / static_cast<double>(g.settings.io);
  const double cpu = g.cores_used() / cpu_of(g, cores);
  const double python = std::isfinite(model.by_python) ? g.python_share() : 0;
  const double lacked = lacked_share(g), working = g.busy + g.reading_cpu;
  const double own = g.own_cores_used() / cpu_of(g, cores);
  const double free = free_cpu_of(g, cores);
  const bool may_be_others =
      g.others < 0 || (others_of(g) > 0.1 * cpu_of(g, cores) && free < cpu_of(g, cores));
  // Full readers that spend their time in the store set the pace, however long other threads wait for a core:
  // were others slower, the elements in progress would be theirs, and readers would have nothing to read.
  const bool store_sets_pace = readers >= kFull && g.reads_wait() && readers >= workers - 0.1;
  if (!store_sets_pace && lacked > 0.15 && g.lacked + g.reading_lacked > 0.4 * working && own < kFull &&
      may_be_others)
    return Limit::cores;
  // Of the full ones the fullest; with a single core the CPU is Python's, too.
  if (cpu >= kFull && cpu + 0.05 >= python) return Limit::cpu;
  if (python >= 0.75) return Limit::python;
  const bool idle = g.own_cores_used() < kFull * free;
  const Limit busy_workers = g.settings.workers < cores && idle ? Limit::workers : Limit::cpu;
  if (!store_sets_pace && workers >= 0.9 && !g.functions_wait()) return busy_workers;
  const Limit busy_readers = g.settings.io < cores && idle ? Limit::readers : Limit::cpu;
  if (readers >= kFull && readers >= workers - 0.1) {
    if (g.readers_compute()) return busy_readers;
    if (model.rate > 0.8 * model.by_bandwidth) return Limit::store_bandwidth;
    const bool lacks_memory = (g.starved && model.readers_in_vain) || model.no_room;
    return lacks_memory ? Limit::memory : Limit::store_latency;
  }
  if (workers >= 0.9) return Limit::functions;
  if (g.starved || model.no_room) return Limit::memory;
  // Nothing is full: everything alternates with the consumer, which asks for more than can be ready.
  if (g.wait_share() < 0.3) return Limit::consumer;
  const double most = std::max({cpu, readers, python});
  // Most of the work in progress waits in functions; more of it needs more elements, or more workers.
  if (most < 0.5 && g.functions_wait() && g.stalled() > 0.5 * g.seconds) return Limit::functions;
  if (busy_workers == Limit::workers && workers >= std::max(0.5, most) && !g.functions_wait())
    return Limit::workers;
  // With tiny parts, threads mostly wake one another, once per part.
  if (most < 0.5)
    return static_cast<double>(g.parts) * kWakeS > 0.3 * g.seconds ? Limit::cpu : Limit::unknown;
  if (most == readers) return g.readers_compute() ? busy_readers : Limit::store_latency;
  return most == python ? Limit::python : Limit::cpu;
}

namespace {

struct Bound {
  Limit limit;
  double rate;
};

Bound lowest(std::initializer_list<Bound> bounds) {
  return *std::ranges::min_element(bounds, {}, &Bound::rate);
}

// Numbers of reads in flight to predict: four times as many, and as many as the others could use.
std::vector<double> more_reads(const Model& m, const Settings& settings, double more_workers) {
  if (m.if_by_readers != Limit::store_latency || m.readers_in_vain || std::isfinite(m.by_bandwidth))
    return {};
  const double others = std::min(
      {m.by_cores * (1 - m.taken), m.by_workers * more_workers, m.by_python, m.by_consumer, m.by_memory});
  const auto now = static_cast<double>(settings.io);
  const double enough = std::min(kMostReads, std::ceil(1.05 * now * others / m.by_readers));
  if (!(enough > now)) return {};
  return 4 * now < enough ? std::vector{4 * now, enough} : std::vector{enough};
}

}  // namespace

std::vector<WhatIf> what_ifs_of_threads(const Gauge& g, const Model& m) {
  if (m.rate <= 0 || !g.reads_wait() || g.reading < g.occupied) return {};
  const double others = std::min(m.by_cores, m.by_consumer), a_row = g.reading / static_cast<double>(g.rows);
  const double reads = std::clamp(std::ceil(1.05 * others * a_row), 2.0, kMostTunedReads);
  const Bound then = lowest(
      {{Limit::consumer, m.by_consumer}, {Limit::cpu, m.by_cores}, {Limit::store_latency, reads / a_row}});
  return {{"with threads (workers=1 or more) and " + std::to_string(static_cast<size_t>(reads)) +
               " reads in flight",
           then.rate / m.rate, then.limit}};
}

std::vector<WhatIf> what_ifs(const Model& m, size_t cores, const Settings& most, const Settings& settings) {
  if (m.rate <= 0) return {};
  const double more_readers =
      static_cast<double>(most.io) / static_cast<double>(std::max<size_t>(1, settings.io));
  // The tuner finds as many workers as the cores need, unless functions that wait are the limit.
  const double more_workers =
      m.waits_in_functions
          ? 1
          : static_cast<double>(most.workers) / static_cast<double>(std::max<size_t>(1, settings.workers));
  struct Change {
    double cores = 1, workers = 1, readers = 1, memory = 1, consumer = 1;  // factors
    bool is_alone = false, is_free_of_python = false, is_brisk = false, is_store_quick = false;
  };
  const auto bounds = [&](const Change& change) {
    const double readers = change.is_store_quick ? m.by_quick_store : m.by_readers;
    const double workers = change.is_brisk ? m.by_brisk : m.by_workers;
    return lowest({{Limit::consumer, m.by_consumer * change.consumer},
                   {Limit::cpu, m.by_cores * (change.cores - (change.is_alone ? 0 : m.taken))},
                   {m.if_by_workers, workers * std::max(change.workers, more_workers)},
                   {Limit::python, change.is_free_of_python ? Model::kNoBound : m.by_python},
                   {Limit::memory, m.by_memory * change.memory},
                   {m.if_by_readers, readers * std::max({1.0, change.readers, more_readers})},
                   {Limit::store_bandwidth, m.by_bandwidth * (change.is_store_quick ? 2 : 1)}});
  };
  const double now = bounds({}).rate;
  if (!std::isfinite(now) || now <= 0) return {};
  std::vector<WhatIf> out;
  const auto add = [&](std::string_view change, const Bound& bound) {
    if (bound.rate < 1.05 * now) return;  // too small a gain to report
    out.push_back({std::string(change), bound.rate / now, bound.limit});
  };
  for (const size_t times : {2, 4}) {
    const Bound with = bounds({.cores = static_cast<double>(times)});
    add("with " + std::to_string(times * cores) + " cores" +
            (m.taken > 0 ? " next to the other programs" : ""),
        with);
    if (with.limit != Limit::cpu) break;  // even more cores would bring no gain
  }
  add("without the other programs", bounds({.is_alone = true}));
  if (settings.workers < cores)
    add("with " + std::to_string(cores) + " workers",
        bounds({.workers = static_cast<double>(cores) / static_cast<double>(settings.workers)}));
  if (m.waits_in_functions)
    add("with " + std::to_string(2 * settings.workers) + " workers", bounds({.workers = 2}));
  if (settings.io < cores && m.if_by_readers == Limit::readers)
    add("with " + std::to_string(cores) + " reads in flight",
        bounds({.readers = static_cast<double>(cores) / static_cast<double>(settings.io)}));
  for (const double reads : more_reads(m, settings, more_workers))
    add("with " + std::to_string(static_cast<size_t>(reads)) + " reads in flight",
        bounds({.readers = reads / static_cast<double>(settings.io)}));
  add("with a store twice as fast", bounds({.is_store_quick = true}));
  add("with twice the memory budget", bounds({.memory = 2}));
  add("with functions that do not hold the GIL", bounds({.is_free_of_python = true}));
  add("with functions that wait half as long", bounds({.is_brisk = true}));
  add("with a consumer that takes no time", bounds({.consumer = Model::kNoBound}));
  return out;
}

}  // namespace headrace
