// Options of a run.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "headrace/core/status.h"
#include "headrace/tune/settings.h"

namespace headrace {

struct SimulatedMachine;

struct LoaderOptions {
  uint64_t seed = 0;  // of the operators' random numbers
  // The three numbers that the tuner changes during the run. One that is set stays fixed.
  // Threads that compute; empty: tuned, starting from the cores this process may use. 0: no thread reads or
  // computes, all work is done in the thread that asks for an element, and the other two are ignored.
  std::optional<size_t> workers;
  size_t io = 0;                       // reads in flight
  size_t ready = 0;                    // elements (batches) in progress or finished
  bool tuned = true;                   // false: all three stay fixed
  Settings start{0, 0, 0};             // initial values of those not set, as found by a run; 0: chosen
  size_t prefetch = 0;                 // minimum of `ready`
  size_t memory_budget = 0;            // bytes; 0: a quarter of what the process may use
  bool deterministic = true;           // false: batches in order of completion
  std::set<std::string> rewrites_off;  // names, or "all"
  // Record while decoding where the rows of JPEG files begin (entropy points), for use in later epochs and
  // runs (docs/jpeg.md); the same bytes.
  bool checkpoints = true;
  // Large bytes of a batch that go through no operator may be the mapped file itself, without a copy. Code
  // that reads them must call check_intact() (io/file_map.h) after reading.
  bool map_files = false;
  // "auto": elements are cached, in memory or in the user's cache folder, where that pays off
  // (docs/caching.md); the same bytes. "": only by cache().
  std::string cache;
  size_t retries = 3;           // of a read that failed for now (io/retrying_store.h)
  bool only_explained = false;  // only explain() will be called; cache="auto" writes no files
  std::string cache_version;    // of the functions in the plan, for caches in files; "": unknown
  bool write_into_slot = true;  // false: through scratch, then copied; the same bytes
  std::string trace;            // a file for a Chrome/Perfetto trace of the first iteration; "" = none
  // A sample that fails is delivered with its error (Sample::failure), and the run continues. REQUIRES: the
  // plan has random access and no batches.
  bool keep_failures = false;
  bool fewest_fields = false;                   // elements have only what their number depends on
  bool may_lack_last = false;                   // save(true) and stop(true) may be called
  bool watched = true;                          // false: no costs of samples and no timeline; for benchmarks
  std::optional<uint64_t> virtual_seed;         // tests: one thread, schedule by this seed
  std::shared_ptr<SimulatedMachine> simulated;  // tests, benchmarks: one thread, in the time of this machine
};

// An error that lists the rewrites if a name is unknown.
Status check_rewrite_names(const std::set<std::string>& names);

}  // namespace headrace
