// What limits a run, and what it would do if something were different: a queue of three kinds of servers,
// readers, cores and the consumer, of which the slowest sets the pace.
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
  python,     // the interpreter's lock
  memory,     // the budget
  cores,      // other programs hold them
  functions,  // that wait for something else
  workers,    // fewer than cores, and all busy
  readers,    // the same of those
  caller,     // no thread but his does anything
};
std::string_view limit_name(Limit limit);  // "store latency"
std::span<const std::string_view> limit_names();

struct Model {
  static constexpr double kNoBound = std::numeric_limits<double>::infinity();
  // Rows a second that each could do; kNoBound where nothing says otherwise.
  double rate = 0;                   // what the run does
  double by_cores = kNoBound;        // all cores busy with what a row costs this process
  double taken = 0;                  // of those, by other programs that hold the run back
  double by_workers = kNoBound;      // all workers occupied
  double by_brisk = kNoBound;        // the same if functions waited half as long
  double by_readers = kNoBound;      // all readers occupied
  double by_quick_store = kNoBound;  // the same if the store took half as long
  double by_bandwidth = kNoBound;    // where more readers brought nothing any more
  double by_python = kNoBound;       // one thread at a time holds the interpreter's lock
  double by_consumer = kNoBound;     // the consumer never waits
  double by_memory = kNoBound;       // the budget is what holds it back
  bool readers_in_vain = false, no_room = false;
  Limit if_by_workers = Limit::functions;      // what all workers being occupied means
  Limit if_by_readers = Limit::store_latency;  // the same of readers
  bool waits_in_functions = false;             // and that is what holds it back

  // What trying more readers has shown.
  struct Tried {
    double bandwidth = kNoBound;   // rows a second at which more of them took as much longer
    bool readers_in_vain = false;  // they brought nothing, for this reason or another
    bool no_room = false;          // more elements under way would help, and the budget has no room for them
  };
  static Model of(const Gauge& gauge, size_t cores, const Tried& tried);

  // Rows a second with other settings on so many cores, in place of `cores` of which `gauge` tells.
  double predict(const Settings& from, const Settings& to) const;
};

struct WhatIf {
  std::string change;           // "4 cores"
  double speedup = 1;           // kNoBound: nothing would hold it back
  Limit then = Limit::unknown;  // what limits it after that
};

// What holds the run back.
Limit limit_of(const Gauge& gauge, const Model& model, size_t cores);

// What each of some changes would bring: more cores, none of them taken by others, workers for all there are,
// a store twice as quick, twice the memory, functions without the interpreter's lock or that wait half as
// long, a consumer that never works. `most`: what the tuner may turn the settings to.
std::vector<WhatIf> what_ifs(const Model& model, size_t cores, const Settings& most,
                             const Settings& settings);

}  // namespace headrace
