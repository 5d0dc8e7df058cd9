// options(cache="auto"): finds the places in a plan where caching pays, in memory or on disk, and puts caches
// there. Results are the same bytes in the same order; states and fingerprints do not change.
//
// Everything before such a cache gives the same result in every epoch: reads and operators that draw no
// random numbers. docs/caching.md describes what is chosen and why.
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
  size_t workers = 1, io = 1;  // maximum
  std::set<std::string> rewrites_off;
  std::string version;          // of the user's functions, for caches on disk; "": unknown
  bool only_explained = false;  // no run follows: nothing is cached, and no choice is recorded for other runs
};

// The chain of operators from a read to a border or a batch, with measurements.
struct CacheChain {
  Program program;  // of the whole chain; its steps are the user's
  Pilot measured;
  std::vector<CacheCandidate> candidates;
};

// For one thread, except reclaim().
class AutoCache final : public CachePlacer, public ReclaimableMemory {
 public:
  // Memory for cached elements and for the index of files is charged to `pool`.
  AutoCache(AutoCacheOptions options, std::shared_ptr<Store> store, std::shared_ptr<Pool> pool);
  ~AutoCache() override;
  AutoCache(const AutoCache&) = delete;
  AutoCache& operator=(const AutoCache&) = delete;

  // The plan with caches where they pay. Measures some samples of each chain first, for a third of a second
  // but at least two samples. REQUIRES: numbered, keyed and planar, not rewritten.
  NodePtr place(const NodePtr& plan) override;
  // Returns memory that the run needs: first that of caches in memory, on the next call that of caches on
  // disk. False when there is none left. Any thread, one at a time.
  bool reclaim() override;

  Value::List what_if() const;  // for a report
  std::string text() const;     // human-readable: what was chosen, where, and why not elsewhere

 private:
  class Placing;
  const AutoCacheOptions options_;
  const std::shared_ptr<Store> store_;
  const std::shared_ptr<Pool> pool_;
  struct Kept {
    std::shared_ptr<ExtraCache> cache;
    KeptIn where;
    size_t reserved;  // bytes of the pool; 0: dropped
  };
  size_t reserved() const;  // sum over `kept_`
  void forget_last();       // removes the last of `kept_`, which no plan uses
  std::vector<Kept> kept_;
  std::atomic<bool> has_given_up_ = false;
  std::vector<CacheChain> chains_;
  std::string none_because_ =
      "no reads and maps before a batch or border give the same results in every epoch";
};

// As the options request; null: no automatic caches. `most`: the maximum settings of the run.
Result<std::unique_ptr<AutoCache>> auto_cache(const LoaderOptions& options, const Settings& most,
                                              std::shared_ptr<Store> store, std::shared_ptr<Pool> pool);

}  // namespace headrace
