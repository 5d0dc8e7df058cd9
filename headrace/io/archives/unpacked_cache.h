// Recently unpacked blocks: fragments of images that hold many small files, members that are read in parts.
//
// Bounded in bytes, least recently used first out. Two threads that want the same block wait for one
// unpacking; neither waits for that of another block. Any thread.
#pragma once
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "headrace/core/buffer.h"
#include "headrace/core/status.h"

namespace headrace {

class UnpackedCache {
 public:
  explicit UnpackedCache(size_t most_bytes) : most_bytes_(most_bytes) {}

  struct Key {
    uint64_t archive = 0, place = 0, packed = 0;
    bool operator==(const Key&) const = default;
  };
  // The result of `make`, which is at most `bytes`; kept while there is room.
  Result<BufferPtr> get(const Key& key, size_t bytes, const std::function<Result<BufferPtr>()>& make);
  size_t held_bytes() const;

 private:
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return static_cast<size_t>((key.archive * 0x9E3779B97F4A7C15u) ^ (key.place * 0xC2B2AE3D27D4EB4Fu) ^
                                 (key.packed * 0x165667B19E3779F9u));
    }
  };
  struct One {
    Key key;
    size_t bytes = 0;
    std::mutex making;
    BufferPtr value;  // guarded by making
  };
  using List = std::list<std::shared_ptr<One>>;
  std::shared_ptr<One> place_of(const Key& key, size_t bytes);
  void forget(const std::shared_ptr<One>& one);

  const size_t most_bytes_;
  mutable std::mutex mutex_;  // guards the members below
  List newest_first_;
  std::unordered_map<Key, List::iterator, KeyHash> by_key_;
  size_t bytes_ = 0;
};

// The cache of the process, and a key in it for each opened archive.
inline constexpr size_t kMostUnpacked = size_t{64} << 20;
UnpackedCache& unpacked_cache();
uint64_t next_archive_id();

}  // namespace headrace
