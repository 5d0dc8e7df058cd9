// Elements that were made before: what `cache()` keeps in memory, and the interface of what it keeps in files
// (run/element_cache/disk_cache.h).
//
// An element is known by the leaf of its level and its index there, which say all about it: what stands below
// a cache draws as in epoch 0, whatever the order is in which its elements are asked for. Any thread.
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
  // Whether get() would find it, now or later: nothing that is kept is given up but by give_up().
  virtual bool has(const CacheKey& key) = 0;
  // Its fields, shared and not to be written; false when it is not there, or what is there is damaged. What
  // has to be read goes to memory of `pool`, or of the heap where that is null; the error is that there is
  // none.
  Result<bool> get(const CacheKey& key, std::vector<Tensor>& fields, Pool* pool = nullptr) {
    HEADRACE_ASSIGN(const bool is_there, find(key, fields, pool));
    (is_there ? hits_ : misses_).fetch_add(1, std::memory_order_relaxed);
    return is_there;
  }
  // Those of several elements of a leaf, each field's one after the other in its place in `out`; false, and
  // `out` is anything, unless all are there and have these dtypes and shapes.
  bool gather(uint64_t leaf, std::span<const uint64_t> indices, std::span<const MutView> out) {
    const bool are_there = find_all(leaf, indices, out);
    if (are_there) hits_.fetch_add(indices.size(), std::memory_order_relaxed);
    return are_there;
  }
  uint64_t hits() const { return hits_.load(std::memory_order_relaxed); }  // of get()
  uint64_t misses() const { return misses_.load(std::memory_order_relaxed); }
  // Keep a copy. An error when there is no room and there must be.
  virtual Status put(const CacheKey& key, std::span<const Tensor> fields) = 0;
  virtual size_t size() = 0;          // elements
  virtual uint64_t bytes() = 0;       // that they take
  virtual std::string trouble() = 0;  // why nothing more is kept; "" while all is well
  // Nothing is kept in memory any more.
  virtual void give_up() {}

 private:
  virtual Result<bool> find(const CacheKey& key, std::vector<Tensor>& fields, Pool* pool) = 0;
  virtual bool find_all(uint64_t leaf, std::span<const uint64_t> indices, std::span<const MutView> out) {
    (void)leaf, (void)indices, (void)out;
    return false;
  }
  std::atomic<uint64_t> hits_ = 0, misses_ = 0;
};

// In memory, up to so many bytes; one more is an error that says both figures.
std::shared_ptr<ElementCache> memory_cache(size_t most_bytes);
// What it takes for an element of these fields beside their own bytes, about.
size_t beside_in_memory_cache(std::span<const TensorSpec> fields);

class CacheRoom;

// Those of one `cache()` in a plan, by what decides their elements (seed, ordinals): pipelines that are built
// on it share them where they are the same. They have one memory: where it is full, those that no pipeline
// has any more make room.
class MemoryCaches {
 public:
  MemoryCaches();
  // Always this one, whatever it is that it keeps elements in.
  explicit MemoryCaches(std::shared_ptr<ElementCache> given);
  ~MemoryCaches();
  MemoryCaches(const MemoryCaches&) = delete;
  MemoryCaches& operator=(const MemoryCaches&) = delete;
  std::shared_ptr<ElementCache> of(const std::string& key, size_t most_bytes);
  const std::shared_ptr<ElementCache>& given() const { return given_; }  // or null

 private:
  const std::shared_ptr<CacheRoom> room_;
  const std::shared_ptr<ElementCache> given_;
};

// An element as bytes and back. Bytes from elsewhere are refused, never read beyond their end.
std::vector<std::byte> pack_fields(std::span<const Tensor> fields);
Status unpack_fields(const BufferPtr& bytes, std::vector<Tensor>& fields);

}  // namespace headrace
