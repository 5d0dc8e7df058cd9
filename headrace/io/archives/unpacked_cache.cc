#include "headrace/io/archives/unpacked_cache.h"

#include <atomic>

namespace headrace {

std::shared_ptr<UnpackedCache::One> UnpackedCache::place_of(const Key& key, size_t bytes) {
  List dropped;  // freed without the lock
  const std::lock_guard lock(mutex_);
  if (const auto it = by_key_.find(key); it != by_key_.end()) {
    newest_first_.splice(newest_first_.begin(), newest_first_, it->second);
    return newest_first_.front();
  }
  auto one = std::make_shared<One>();
  one->key = key, one->bytes = bytes;
  newest_first_.push_front(one);
  by_key_.emplace(key, newest_first_.begin());
  bytes_ += bytes;
  while (bytes_ > most_bytes_ && newest_first_.size() > 1) {
    bytes_ -= newest_first_.back()->bytes;
    by_key_.erase(newest_first_.back()->key);
    dropped.splice(dropped.begin(), newest_first_, std::prev(newest_first_.end()));
  }
  return one;
}

void UnpackedCache::forget(const std::shared_ptr<One>& one) {
  const std::lock_guard lock(mutex_);
  const auto it = by_key_.find(one->key);
  if (it == by_key_.end() || *it->second != one) return;
  bytes_ -= one->bytes;
  newest_first_.erase(it->second);
  by_key_.erase(it);
}

Result<BufferPtr> UnpackedCache::get(const Key& key, size_t bytes,
                                     const std::function<Result<BufferPtr>()>& make) {
  const std::shared_ptr<One> one = place_of(key, bytes);
  const std::lock_guard lock(one->making);
  if (one->value) return one->value;
  auto made = make();
  if (!made.ok()) {
    forget(one);
    return made;
  }
  one->value = *made;
  return made;
}

size_t UnpackedCache::held_bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

UnpackedCache& unpacked_cache() {
  static UnpackedCache cache(kMostUnpacked);
  return cache;
}

uint64_t next_archive_id() {
  static std::atomic<uint64_t> next{1};
  return next++;
}

}  // namespace headrace
