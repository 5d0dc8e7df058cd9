// Elements that were made before: what `cache()` keeps in memory, and the interface of the file cache
// (run/element_cache/disk_cache.h).
//
// An element is identified by the leaf of its level and its index there. These determine it completely: below
// a cache every draw is that of epoch 0, in whatever order elements are requested. Any thread.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "headrace/core/pool.h"
#include "headrace/core/status.h"
#include "headrace/core/tensor.h"

namespace headrace {

struct CacheKey {
  uint64_t leaf = 0, index = 0;  // the leaf among those below the cache
  bool operator==(const CacheKey&) const = default;
};
struct CacheKeyHash {
  size_t operator()(const CacheKey& key) const {
    return std::hash<uint64_t>()(key.index * 0x9e3779b97f4a7c15u + key.leaf);
  }
};

class ElementCache {
 public:
  virtual ~ElementCache() = default;
  // Whether get() would find it, now or later: only reclaim() drops kept elements.
  virtual bool has(const CacheKey& key) = 0;
  // Its fields, shared and read-only; false when it is not there or damaged. What must be read goes to memory
  // of `pool`, or of the heap where that is null; the error is that there is no memory.
  Result<bool> get(const CacheKey& key, std::vector<Tensor>& fields, Pool* pool = nullptr) {
    HEADRACE_ASSIGN(const bool is_there, find(key, fields, pool));
    (is_there ? hits_ : misses_).fetch_add(1, std::memory_order_relaxed);
    return is_there;
  }
  // The fields of several elements of a leaf, each field's consecutively at its place in `out`. Returns
  // false, with `out` undefined, unless all are there and have these dtypes and shapes.
  bool gather(uint64_t leaf, std::span<const uint64_t> indices, std::span<const MutView> out) {
    const bool are_there = find_all(leaf, indices, out);
    if (are_there) hits_.fetch_add(indices.size(), std::memory_order_relaxed);
    return are_there;
  }
  uint64_t hits() const { return hits_.load(std::memory_order_relaxed); }  // of get()
  uint64_t misses() const { return misses_.load(std::memory_order_relaxed); }
  // Keeps a copy. An error when it does not fit but has to.
  virtual Status put(const CacheKey& key, std::span<const Tensor> fields) = 0;
  virtual size_t size() = 0;          // elements
  virtual uint64_t bytes() = 0;       // memory or disk that they take
  virtual std::string trouble() = 0;  // why nothing more is kept; "" when all is well
  // Stops keeping anything in memory.
  virtual void reclaim() {}

 private:
  virtual Result<bool> find(const CacheKey& key, std::vector<Tensor>& fields, Pool* pool) = 0;
  virtual bool find_all(uint64_t leaf, std::span<const uint64_t> indices, std::span<const MutView> out) {
    (void)leaf, (void)indices, (void)out;
    return false;
  }
  std::atomic<uint64_t> hits_ = 0, misses_ = 0;
};

// In memory, up to the given number of bytes; one more is an error that states both figures.
std::shared_ptr<ElementCache> memory_cache(size_t most_bytes);
// Roughly what an element of these fields takes besides their own bytes.
size_t beside_in_memory_cache(std::span<const TensorSpec> fields);

class CacheRoom;

// The caches of one `cache()` in a plan, by what determines their elements (seed, ordinals): pipelines that
// are built on it share them where these are equal. They share one memory limit: when it is reached, caches
// that no pipeline uses any more are dropped.
class MemoryCaches {
 public:
  MemoryCaches();
  // of() always returns this cache, whether it keeps elements in memory or in files.
  explicit MemoryCaches(std::shared_ptr<ElementCache> given);
  ~MemoryCaches();
  MemoryCaches(const MemoryCaches&) = delete;
  MemoryCaches& operator=(const MemoryCaches&) = delete;
  // `cause`: why elements may be too many, for the error.
  std::shared_ptr<ElementCache> of(const std::string& key, size_t most_bytes, const std::string& cause = "");
  const std::shared_ptr<ElementCache>& given() const { return given_; }  // or null

 private:
  const std::shared_ptr<CacheRoom> room_;
  const std::shared_ptr<ElementCache> given_;
};

// An element as bytes and back. Invalid bytes are refused, never read beyond their end.
std::vector<std::byte> pack_fields(std::span<const Tensor> fields);
Status unpack_fields(const BufferPtr& bytes, std::vector<Tensor>& fields);

}  // namespace headrace
