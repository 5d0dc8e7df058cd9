// options(cache="auto"): finds the places in a plan where keeping elements pays, in memory or on disk, and
// puts caches there. Results are the same bytes in the same order; states and fingerprints do not know of it.
//
// What stands before such a cache answers the same in every epoch: reads and operators that do not draw.
// docs/caching.md says what is chosen and why.
#pragma once
#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "headrace/run/cache/cache_candidates.h"
#include "headrace/run/engine/reclaimable_memory.h"
#include "headrace/run/lower/loader_options.h"
#include "headrace/run/lower/pipeline.h"
#include "headrace/tune/settings.h"

namespace headrace {

class ExtraCache;

struct AutoCacheOptions {
  uint64_t seed = 0;
  size_t workers = 1, io = 1;  // at most
  std::set<std::string> rewrites_off;
  std::string version;          // of the user's functions, for what is kept in files; "": nobody can tell
  bool only_explained = false;  // there is no run: nothing is kept, and no place is chosen for others
};

// Reads and elements on their way to a border or a batch, and what was found about them.
struct CacheChain {
  Program program;  // that they go through; its steps are the user's
  Pilot measured;
  std::vector<CacheCandidate> candidates;
};

// One thread.
class AutoCache final : public CachePlacer, public ReclaimableMemory {
 public:
  // Memory for what it keeps, and to know what lies in files, is taken from `pool`.
  AutoCache(AutoCacheOptions options, std::shared_ptr<Store> store, std::shared_ptr<Pool> pool);
  ~AutoCache() override;
  AutoCache(const AutoCache&) = delete;
  AutoCache& operator=(const AutoCache&) = delete;

  // The plan with caches where they pay. It looks at some samples first, for a third of a second or two
  // samples of each chain. REQUIRES: numbered, keyed and planar, not rewritten.
  NodePtr place(const NodePtr& plan) override;
  // Memory goes back, for the run wants it: that of what is kept there, and when it is asked again, that of
  // what is kept in files. False when there is none. Any thread, one at a time.
  bool reclaim() override;

  Value::List what_if() const;  // of a report
  std::string text() const;     // for people: what was chosen, where, and why not elsewhere

 private:
  class Placing;
  const AutoCacheOptions options_;
  const std::shared_ptr<Store> store_;
  const std::shared_ptr<Pool> pool_;
  struct Kept {
    std::shared_ptr<ExtraCache> cache;
    KeptIn where;
    size_t reserved;  // of the pool; 0: given up
  };
  size_t reserved() const;  // by all of them
  void forget_last();       // of `kept_`: no plan has it
  std::vector<Kept> kept_;
  std::atomic<bool> has_given_up_ = false;
  std::vector<CacheChain> chains_;
  std::string none_because_ =
      "no reads and maps that answer the same in every epoch stand before a batch or border";
};

// What the options ask for; null: nothing. `most`: what the run may have.
Result<std::unique_ptr<AutoCache>> auto_cache(const LoaderOptions& options, const Settings& most,
                                              std::shared_ptr<Store> store, std::shared_ptr<Pool> pool);

}  // namespace headrace
