// A cache that the run added because it pays (run/cache/auto_cache.h). It has room for some or all elements;
// others are made as without a cache. Its memory is released when the run cannot continue without it.
#pragma once
#include <memory>
#include <string>

#include "headrace/core/cache/element_cache.h"
#include "headrace/graph/program.h"

namespace headrace {

// Elements are selected by a hash of their key: the same ones in every epoch, run and process. Nothing is
// evicted: since each sample comes once per epoch, no eviction policy gets more hits. Any thread.
class ExtraCache final : public ElementCache {
 public:
  struct Room {
    double share = 1;  // of the elements to cache
    uint64_t bytes = ~uint64_t{0};
  };
  // `straight` is the programs before and after the cache as one.
  ExtraCache(std::shared_ptr<ElementCache> kept, Room room, Program straight)
      : kept_(std::move(kept)), room_(room), straight_(std::move(straight)) {}

  const Program& straight() const { return straight_; }
  // Whether put() would store it. REQUIRES: it is not in the cache.
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
