#include "headrace/run/element_cache/extra_cache.h"

namespace headrace {
namespace {

// Every bit of the key affects every bit of the result (the finalizer of splitmix64).
uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// In [0, 1).
double place_of(const CacheKey& key) {
  return static_cast<double>(mixed(mixed(key.leaf + 0x9e3779b97f4a7c15u) ^ key.index) >> 11) * 0x1p-53;
}

}  // namespace

bool ExtraCache::wants(const CacheKey& key) {
  return !is_full_.load(std::memory_order_relaxed) && (room_.share >= 1 || place_of(key) < room_.share);
}

Status ExtraCache::put(const CacheKey& key, std::span<const Tensor> fields) {
  if (!wants(key)) return {};
  const Status status = kept_->put(key, fields);
  if (!status.ok() || kept_->bytes() >= room_.bytes || !kept_->trouble().empty())
    is_full_.store(true, std::memory_order_relaxed);
  return {};
}

}  // namespace headrace
