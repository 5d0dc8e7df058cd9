// A cache that nobody wrote into the plan: the run keeps elements because it pays (run/cache/auto_cache.h).
// It has room for some or all, and where it has not, elements are made as if there were none. What it keeps
// in memory is given up when the run cannot go on without that memory.
#pragma once
#include <memory>
#include <string>

#include "headrace/core/element_cache.h"
#include "headrace/graph/program.h"

namespace headrace {

// The share of elements is by a hash of who they are: the same ones in every epoch, run and process. Nothing
// is given up for another, for in an exact epoch no policy finds more (each element comes once). Any thread.
class ExtraCache final : public ElementCache {
 public:
  struct Room {
    double share = 1;  // of the elements, those that are kept
    uint64_t bytes = ~uint64_t{0};
  };
  // `straight` makes of an element at once what the programs before and after the cache make of it.
  ExtraCache(std::shared_ptr<ElementCache> kept, Room room, Program straight)
      : kept_(std::move(kept)), room_(room), straight_(std::move(straight)) {}

  const Program& straight() const { return straight_; }
  // Whether put() would keep it. REQUIRES: it is not there.
  bool wants(const CacheKey& key);

  bool has(const CacheKey& key) override { return kept_->has(key); }
  Status put(const CacheKey& key, std::span<const Tensor> fields) override;
  size_t size() override { return kept_->size(); }
  uint64_t bytes() override { return kept_->bytes(); }
  std::string trouble() override { return kept_->trouble(); }
  void reclaim() override {
    is_full_.store(true, std::memory_order_relaxed);
    kept_->reclaim();
  }

 private:
  Result<bool> find(const CacheKey& key, std::vector<Tensor>& fields, Pool* pool) override {
    return kept_->get(key, fields, pool);
  }
  bool find_all(uint64_t leaf, std::span<const uint64_t> indices, std::span<const MutView> out) override {
    return kept_->gather(leaf, indices, out);
  }

  const std::shared_ptr<ElementCache> kept_;
  const Room room_;
  const Program straight_;
  std::atomic<bool> is_full_ = false;
};

}  // namespace headrace
