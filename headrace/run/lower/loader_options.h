// What a run may be told beside its plan.
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
  uint64_t seed = 0;  // of the operators' randomness
  // The three numbers that the tuner turns while the run goes on. One that is given stays as it is.
  // Threads that compute; none: from the cores this process may use on. 0: no thread reads or computes,
  // whoever asks for an element does what it takes, and the other two do not matter.
  std::optional<size_t> workers;
  size_t io = 0;                       // reads in flight
  size_t ready = 0;                    // elements (batches) under way or ready
  bool tuned = true;                   // false: all three stay as they are
  Settings start{0, 0, 0};             // where those that are not given begin, as a run found them; 0: chosen
  size_t prefetch = 0;                 // at least so many elements under way or ready
  size_t memory_budget = 0;            // bytes; 0: a quarter of what the process may use
  bool deterministic = true;           // false: batches in the order in which they get ready
  std::set<std::string> rewrites_off;  // names, or "all"
  // Find out on the way where the rows of JPEG files begin, and use that from the next epoch and run on
  // (docs/jpeg.md); the same bytes.
  bool checkpoints = true;
  // Large bytes of a batch that go through no operator may be those of the file itself, mapped: no copy is
  // made. Who takes them asks check_intact() (io/file_map.h) after he has looked at them.
  bool map_files = false;
  // "auto": elements are kept, in memory or in the user's cache folder, where that pays (docs/caching.md);
  // the same bytes. "": only by cache().
  std::string cache;
  bool only_explained = false;  // explain() is all that will be called: cache="auto" keeps nothing in files
  std::string cache_version;    // of the functions in the plan, which files outlive; "": nobody can tell
  bool write_into_slot = true;  // false: through scratch, then copied; the same bytes
  std::string trace;            // a file for a Chrome/Perfetto trace of the first iteration; "" = none
  // A sample that fails is an element that says why (Sample::failure), and the run goes on. REQUIRES: the
  // plan has random access and gives no batches.
  bool keep_failures = false;
  bool may_lack_last = false;  // save(true) and stop(true) may be asked for
  bool watched = true;         // false: neither what samples cost nor a timeline is kept; for benchmarks
  std::optional<uint64_t> virtual_seed;         // tests: one thread, schedule by this seed
  std::shared_ptr<SimulatedMachine> simulated;  // tests, benchmarks: one thread, in the time of this machine
};

// An error that lists the rewrites when one of the names is none.
Status check_rewrite_names(const std::set<std::string>& names);

}  // namespace headrace
