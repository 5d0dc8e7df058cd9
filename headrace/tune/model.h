// What limits a run, and predictions for changes: a queue of three kinds of servers (readers, cores and the
// consumer), of which the slowest sets the pace.
#pragma once
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/tune/gauge.h"

namespace headrace {

enum class Limit : uint8_t {
  unknown,
  cpu,
  store_latency,
  store_bandwidth,
  consumer,
  python,     // the GIL
  memory,     // the budget
  cores,      // occupied by other programs
  functions,  // that wait for something else
  workers,    // fewer than cores, and all busy
  readers,    // the same for readers
  caller,     // all work is done in the caller's thread
};
std::string_view limit_name(Limit limit);  // "store latency"
std::span<const std::string_view> limit_names();

struct Model {
  static constexpr double kNoBound = std::numeric_limits<double>::infinity();
  // The maximum rate in rows per second that each permits; kNoBound where it is no limit.
  double rate = 0;                   // the measured rate
  double by_cores = kNoBound;        // all cores busy with the cost of rows in this process
  double taken = 0;                  // share of the cores taken by other programs, if that limits the run
  double by_workers = kNoBound;      // all workers occupied
  double by_brisk = kNoBound;        // the same if functions waited half as long
  double by_readers = kNoBound;      // all readers occupied
  double by_quick_store = kNoBound;  // the same if the store took half as long
  double by_bandwidth = kNoBound;    // the rate above which more readers brought no gain
  double by_python = kNoBound;       // one thread at a time holds the GIL
  double by_consumer = kNoBound;     // the consumer never waits
  double by_memory = kNoBound;       // limited by the budget
  bool readers_in_vain = false, no_room = false;
  Limit if_by_workers = Limit::functions;      // the limit when all workers are occupied
  Limit if_by_readers = Limit::store_latency;  // the limit when all readers are occupied
  bool waits_in_functions = false;             // functions that wait limit the run

  // Results of trying other settings.
  struct Tried {
    double bandwidth = kNoBound;   // rows per second at which more reads only took longer
    bool readers_in_vain = false;  // more readers brought no gain, for this or another reason
    bool no_room = false;          // more elements in flight would help, but exceed the budget
  };
  static Model of(const Gauge& gauge, size_t cores, const Tried& tried);

  // Rows per second with other settings on the same cores.
  double predict(const Settings& from, const Settings& to) const;
};

struct WhatIf {
  std::string change;           // "4 cores"
  double speedup = 1;           // kNoBound: nothing else would limit the run
  Limit then = Limit::unknown;  // the limit after the change
};

// What limits the run.
Limit limit_of(const Gauge& gauge, const Model& model, size_t cores);

// The effect of some changes: more cores, no cores taken by others, workers for all cores, more reads in
// flight, a store twice as fast, twice the memory, functions without the GIL or that wait half as long, a
// consumer that takes no time. More reads are taken to wait no longer than now: the store's bandwidth is not
// known before they are tried.
// `most`: the maximum settings that the tuner may choose.
std::vector<WhatIf> what_ifs(const Model& model, size_t cores, const Settings& most,
                             const Settings& settings);
// Of a run without threads, which waits for the store most of the time: that of threads.
std::vector<WhatIf> what_ifs_of_threads(const Gauge& gauge, const Model& model);

}  // namespace headrace
