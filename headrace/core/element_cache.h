// Elements that were made before: what `cache()` keeps in memory, and the interface of what it keeps in files
// (run/disk_cache.h).
//
// An element is known by the leaf of its level and its index there, which say all about it: what stands below
// a cache draws as in epoch 0, whatever the order is in which its elements are asked for. Any thread.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

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
  // Whether get() would find it, now or later: nothing that is kept is given up.
  virtual bool has(const CacheKey& key) = 0;
  // Its fields, shared and not to be written; false when it is not there, or what is there is damaged.
  virtual bool get(const CacheKey& key, std::vector<Tensor>& fields) = 0;
  // Keep a copy. An error when there is no room and there must be.
  virtual Status put(const CacheKey& key, std::span<const Tensor> fields) = 0;
  virtual size_t size() = 0;          // elements
  virtual std::string trouble() = 0;  // why nothing more is kept; "" while all is well
};

// In memory, up to so many bytes; one more is an error that says both figures.
std::shared_ptr<ElementCache> memory_cache(size_t most_bytes);

// Those of one `cache()` in a plan, by what decides their elements (seed, ordinals): pipelines that are built
// on it share them where they are the same.
class MemoryCaches {
 public:
  std::shared_ptr<ElementCache> of(const std::string& key, size_t most_bytes);

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<ElementCache>> caches_;  // guarded by mutex_
};

// An element as bytes and back. Bytes from elsewhere are refused, never read beyond their end.
std::vector<std::byte> pack_fields(std::span<const Tensor> fields);
Status unpack_fields(const BufferPtr& bytes, std::vector<Tensor>& fields);

}  // namespace headrace
