// Where in a chain of operators a cache would pay, and what it would give: arithmetic over what a pilot
// measured and what room there is. Pure; any thread.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headrace/core/value.h"
#include "headrace/run/cache/pilot.h"

namespace headrace {

// What a run has, and what it costs here to bring back what was kept.
struct CacheMachine {
  size_t workers = 1, cores = 1, io = 1;
  uint64_t memory_room = 0, disk_room = 0;  // bytes for elements
  uint64_t disk_places = ~uint64_t{0};      // elements on disk that there is memory to know of
  std::string no_disk;                      // why none may be kept there; "" when they may
  uint64_t page_cache = 0;                  // bytes of files that the system may keep in memory
  double write_s_per_byte = 0;              // into a batch
  double memory_s_per_byte = 0;             // of what was kept in memory
  double disk_s_per_byte = 0;               // of a file that the system keeps in memory, checked
  double cold_disk_s_per_byte = 0;          // of one that it does not
  double disk_write_s_per_byte = 0;
  double lock_share = 1;  // as in Pilot
};

// Samples a second, with nobody in the way behind the chain.
double rate_of(const Demand& demand, const CacheMachine& machine);

enum class KeptIn : uint8_t { nowhere, memory, disk };

struct CacheCandidate {
  std::string after;       // "resize (map at train.py:12)"; "read"
  std::vector<bool> kept;  // by step: whether what it makes is behind the cache
  uint64_t elements = 0;
  double element_bytes = 0;
  double beside = 0;                 // bytes, to keep an element in memory
  Demand demand;                     // of a sample that is kept, without bringing it back
  bool possible = true;              // else `why` says what forbids it
  double bytes(KeptIn place) const;  // of all
  double bytes() const { return bytes(where); }

  KeptIn where = KeptIn::nowhere;  // the best place for it
  double share = 0;                // of the elements that have room there
  bool fits = false;               // all of them
  double speedup = 1;              // samples/s from the second epoch on, over those without
  double with_room = 1;            // the same if all had room in memory
  bool pays = false, chosen = false;
  std::string why;
};

// How often what is kept is asked for again.
struct CacheUse {
  uint64_t elements = 0;       // of an epoch over all ranks, each once
  uint64_t in_memory = 0;      // those that this process asks for, epoch after epoch
  double found_in_memory = 1;  // in the second epoch, of what it kept in the first
};

// One for each place where everything before answers the same in every epoch: after the read, and after each
// step that the user wrote; and the first where it does not. `measured` is of `program`; `below` names what
// stands below it.
std::vector<CacheCandidate> cache_candidates(std::string_view below, const Program& program,
                                             const Pilot& measured, const CacheUse& use);

// Fills in what depends on the room: where, share, fits, speedup, pays, why. `base`: of a sample without.
void judge(CacheCandidate& candidate, const Demand& base, const CacheUse& use, const CacheMachine& machine,
           double output_bytes);

// The index of the best that pays, or -1. Says of the others why not.
int choose(std::vector<CacheCandidate>& candidates);

// What a cache would bring, for a report: the one that is chosen, or where `is_kept`, as it is already,
// memory for all elements at the place where that brings most.
std::optional<Value> what_if(const std::vector<CacheCandidate>& candidates, bool is_kept);
std::string to_text(const std::vector<CacheCandidate>& candidates);

// "41.0 GB".
std::string bytes_as_text(double bytes);

}  // namespace headrace
