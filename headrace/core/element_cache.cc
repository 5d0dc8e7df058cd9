#include "headrace/core/element_cache.h"

#include <unordered_map>

namespace headrace {
namespace {

class MemoryCache final : public ElementCache {
 public:
  explicit MemoryCache(size_t most_bytes) : most_(most_bytes) {}

  bool has(const CacheKey& key) override {
    std::lock_guard lock(mutex_);
    return elements_.contains(key);
  }

  bool get(const CacheKey& key, std::vector<Tensor>& fields) override {
    std::lock_guard lock(mutex_);
    const auto it = elements_.find(key);
    if (it == elements_.end()) return false;
    fields = it->second;
    return true;
  }

  Status put(const CacheKey& key, std::span<const Tensor> fields) override {
    if (has(key)) return {};
    // One block of memory an element, outside the run's budget: it stays when the run has ended.
    const std::vector<std::byte> packed = pack_fields(fields);
    MutableBufferPtr block = HeapBuffer::make(packed.size());
    std::copy(packed.begin(), packed.end(), block->mutable_data());
    std::vector<Tensor> kept;
    HEADRACE_TRY(unpack_fields(std::move(block), kept));
    std::lock_guard lock(mutex_);
    if (used_ + packed.size() > most_)
      return {Code::exhausted,
              "cache: wants at least " + std::to_string(used_ + packed.size()) + " bytes for " +
                  std::to_string(elements_.size() + 1) + " elements, it may have " + std::to_string(most_) +
                  "; cache a smaller form of them, cache(path) in files, or give max_memory="};
    if (elements_.emplace(key, std::move(kept)).second) used_ += packed.size();
    return {};
  }

  size_t size() override {
    std::lock_guard lock(mutex_);
    return elements_.size();
  }
  std::string trouble() override { return {}; }

 private:
  const size_t most_;
  std::mutex mutex_;
  size_t used_ = 0;
  std::unordered_map<CacheKey, std::vector<Tensor>, CacheKeyHash> elements_;
};

}  // namespace

std::shared_ptr<ElementCache> memory_cache(size_t most_bytes) {
  return std::make_shared<MemoryCache>(most_bytes);
}

std::shared_ptr<ElementCache> MemoryCaches::of(const std::string& key, size_t most_bytes) {
  std::lock_guard lock(mutex_);
  std::shared_ptr<ElementCache>& found = caches_[key];
  if (!found) found = memory_cache(most_bytes);
  return found;
}

}  // namespace headrace
