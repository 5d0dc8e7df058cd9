#include "headrace/core/element_cache.h"

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace headrace {

// The memory of several caches, and who they are. Any thread.
class CacheRoom {
 public:
  std::shared_ptr<ElementCache>& of(const std::string& key) { return caches_[key]; }
  std::mutex& mutex() { return mutex_; }  // held for of()

  // Whether `size` bytes more are within `most`; `used` is what all would take then. Caches that nobody has
  // any more are given up for that.
  bool take(size_t size, size_t most, size_t& used) {
    std::lock_guard lock(mutex_);
    for (auto it = caches_.begin(); used_ + size > most && it != caches_.end();) {
      const bool is_idle = it->second && it->second.use_count() == 1;
      if (is_idle) used_ -= it->second->bytes();
      it = is_idle ? caches_.erase(it) : std::next(it);
    }
    used = used_ + size;
    if (used > most) return false;
    used_ = used;
    return true;
  }
  void clear() {
    std::lock_guard lock(mutex_);
    caches_.clear();
  }
  void give_back(size_t size) {
    std::lock_guard lock(mutex_);
    used_ -= size;
  }

 private:
  std::mutex mutex_;
  size_t used_ = 0;                                              // guarded by mutex_
  std::map<std::string, std::shared_ptr<ElementCache>> caches_;  // guarded by mutex_
};

namespace {

// Fields by key, those of neighbours side by side: elements are mostly asked for in order.
class ElementTable {
 public:
  // Null when it is not there.
  const std::vector<Tensor>* find(const CacheKey& key) {
    const CacheKey page = page_of(key);
    if (!last_ || !(last_key_ == page)) {
      const auto it = pages_.find(page);
      if (it == pages_.end()) return nullptr;
      last_ = it->second.get(), last_key_ = page;
    }
    const auto& fields = (*last_)[key.index % kPage];
    return fields ? &*fields : nullptr;
  }
  // False when it is there.
  bool add(const CacheKey& key, std::vector<Tensor> fields) {
    std::unique_ptr<Page>& page = pages_[page_of(key)];
    if (!page) page = std::make_unique<Page>();
    std::optional<std::vector<Tensor>>& place = (*page)[key.index % kPage];
    if (place) return false;
    place = std::move(fields);
    ++size_;
    return true;
  }
  size_t size() const { return size_; }
  // That one more element takes beside its own bytes.
  size_t bytes_for(const CacheKey& key) const { return pages_.contains(page_of(key)) ? 0 : sizeof(Page); }

 private:
  static constexpr uint64_t kPage = 16;
  using Page = std::array<std::optional<std::vector<Tensor>>, kPage>;
  static CacheKey page_of(const CacheKey& key) { return {key.leaf, key.index / kPage}; }

  std::unordered_map<CacheKey, std::unique_ptr<Page>, CacheKeyHash> pages_;
  const Page* last_ = nullptr;  // that was found
  CacheKey last_key_;
  size_t size_ = 0;
};

class MemoryCache final : public ElementCache {
 public:
  MemoryCache(std::shared_ptr<CacheRoom> room, size_t most_bytes)
      : room_(std::move(room)), most_(most_bytes) {}

  bool has(const CacheKey& key) override {
    std::lock_guard lock(mutex_);
    return elements_.find(key) != nullptr;
  }

  Status put(const CacheKey& key, std::span<const Tensor> fields) override {
    if (has(key)) return {};
    // One block of memory an element, outside the run's budget: it stays when the run has ended.
    const std::vector<std::byte> packed = pack_fields(fields);
    MutableBufferPtr block = HeapBuffer::make(packed.size());
    std::copy(packed.begin(), packed.end(), block->mutable_data());
    std::vector<Tensor> kept;
    HEADRACE_TRY(unpack_fields(std::move(block), kept));
    const size_t size = packed.size() + place_for(key);
    size_t wanted = 0;
    if (!room_->take(size, most_, wanted)) return too_many(size, wanted);
    if (!add(key, std::move(kept), size)) room_->give_back(size);
    return {};
  }

  size_t size() override {
    std::lock_guard lock(mutex_);
    return elements_.size();
  }
  uint64_t bytes() override {
    std::lock_guard lock(mutex_);
    return used_;
  }
  std::string trouble() override { return {}; }

 private:
  bool find(const CacheKey& key, std::vector<Tensor>& fields) override {
    std::lock_guard lock(mutex_);
    const std::vector<Tensor>* found = elements_.find(key);
    if (found) fields = *found;
    return found;
  }

  bool find_all(uint64_t leaf, std::span<const uint64_t> indices, std::span<const MutView> out) override {
    if (indices.empty()) return true;
    std::lock_guard lock(mutex_);
    for (size_t i = 0; i < indices.size(); ++i) {
      const std::vector<Tensor>* fields = elements_.find({leaf, indices[i]});
      if (!fields || fields->size() != out.size()) return false;
      for (size_t f = 0; f < out.size(); ++f) {
        const View from = (*fields)[f].view();
        const size_t bytes = out[f].size_bytes() / indices.size();
        if (!((*fields)[f].shape == out[f].shape.without_front()) || from.dtype != out[f].dtype) return false;
        std::memcpy(out[f].data + i * bytes, from.data, bytes);
      }
    }
    return true;
  }

  size_t place_for(const CacheKey& key) {
    std::lock_guard lock(mutex_);
    return elements_.bytes_for(key);
  }

  // False when another thread was faster.
  bool add(const CacheKey& key, std::vector<Tensor> fields, size_t size) {
    std::lock_guard lock(mutex_);
    const bool is_new = elements_.add(key, std::move(fields));
    if (is_new) used_ += size;
    return is_new;
  }

  Status too_many(size_t size, size_t wanted) {
    std::lock_guard lock(mutex_);
    const size_t others = wanted - size - std::min(used_, wanted - size);
    return {Code::exhausted,
            "cache: wants at least " + std::to_string(wanted) + " bytes for " +
                std::to_string(elements_.size() + 1) + " elements" +
                (others > 0 ? ", with " + std::to_string(others) + " bytes that another run of it uses now"
                            : "") +
                ", it may have " + std::to_string(most_) +
                "; cache a smaller form of them, cache(path) in files, or give max_memory="};
  }

  const std::shared_ptr<CacheRoom> room_;
  const size_t most_;
  std::mutex mutex_;
  size_t used_ = 0;
  ElementTable elements_;
};

}  // namespace

std::shared_ptr<ElementCache> memory_cache(size_t most_bytes) {
  return std::make_shared<MemoryCache>(std::make_shared<CacheRoom>(), most_bytes);
}

MemoryCaches::MemoryCaches() : room_(std::make_shared<CacheRoom>()) {}
MemoryCaches::~MemoryCaches() { room_->clear(); }  // they hold it, and it them

std::shared_ptr<ElementCache> MemoryCaches::of(const std::string& key, size_t most_bytes) {
  std::lock_guard lock(room_->mutex());
  std::shared_ptr<ElementCache>& found = room_->of(key);
  if (!found) found = std::make_shared<MemoryCache>(room_, most_bytes);
  return found;
}

}  // namespace headrace
