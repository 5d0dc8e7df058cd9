// Where in a chain of operators a cache would pay, and its effect: arithmetic over the measurements of a
// pilot and the available room. Pure; any thread.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headrace/core/value.h"
#include "headrace/run/cache/pilot.h"

namespace headrace {

// The resources of a run, and the cost of reading cached elements on this machine.
struct CacheMachine {
  size_t workers = 1, cores = 1, io = 1;
  uint64_t memory_room = 0, disk_room = 0;  // bytes for elements
  uint64_t disk_places = ~uint64_t{0};      // elements on disk for which there is memory for the index
  std::string no_disk;                      // why nothing may be cached on disk; "" if it may
  uint64_t page_cache = 0;                  // bytes of files that the system's page cache may hold
  double write_s_per_byte = 0;              // into a batch
  double memory_s_per_byte = 0;             // from a cache in memory
  double disk_s_per_byte = 0;               // from a file in the page cache, including the checksum
  double cold_disk_s_per_byte = 0;          // from a file that is not in the page cache
  double disk_write_s_per_byte = 0;
  double lock_share = 1;  // as in Pilot
};

// Samples per second, if nothing after the chain is a limit.
double rate_of(const Demand& demand, const CacheMachine& machine);

enum class KeptIn : uint8_t { nowhere, memory, disk };

struct CacheCandidate {
  std::string after;       // "resize (map at train.py:12)"; "read"
  std::vector<bool> kept;  // by step: whether it is before the cache
  uint64_t elements = 0;
  double element_bytes = 0;
  double beside = 0;                 // additional bytes of an element in memory
  Demand demand;                     // of a cached sample, without fetching it
  bool possible = true;              // otherwise `why` gives the reason
  double bytes(KeptIn place) const;  // of all elements
  double bytes() const { return bytes(where); }

  KeptIn where = KeptIn::nowhere;  // the best place for it
  double share = 0;                // of the elements that fit there
  bool fits = false;               // all of them fit
  double speedup = 1;              // samples/s from the second epoch on, relative to no cache
  double with_room = 1;            // the same if all fitted in memory
  bool pays = false, chosen = false;
  std::string why;
};

// How often cached elements are needed again.
struct CacheUse {
  uint64_t elements = 0;       // distinct elements of an epoch over all ranks
  uint64_t in_memory = 0;      // the part that this process needs in every epoch
  double found_in_memory = 1;  // share of the second epoch's elements that it cached in the first
};

// One candidate for each place where everything before gives the same results in every epoch: after the read,
// and after each step that the user wrote; and the first place where that ends. `measured` is of `program`;
// `below` is the name of the verb below it.
std::vector<CacheCandidate> cache_candidates(std::string_view below, const Program& program,
                                             const Pilot& measured, const CacheUse& use);

// Fills in what depends on the room: where, share, fits, speedup, pays, why. `base`: of a sample without
// cache.
void judge(CacheCandidate& candidate, const Demand& base, const CacheUse& use, const CacheMachine& machine,
           double output_bytes);

// The index of the best that pays, or -1. Sets the reason for the others.
int choose(std::vector<CacheCandidate>& candidates);

// The effect of a cache, for a report: of the chosen one; with `is_kept` (it exists already), of memory for
// all elements at the best place.
std::optional<Value> what_if(const std::vector<CacheCandidate>& candidates, bool is_kept);
std::string to_text(const std::vector<CacheCandidate>& candidates);

// "41.0 GB".
std::string bytes_as_text(double bytes);

}  // namespace headrace
