// The cache of `cache(path)`.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "headrace/core/cache/element_cache.h"
#include "headrace/formats/source.h"

namespace headrace {

// Extensions of its files: elements, their positions, and the lock for writing.
inline constexpr std::string_view kCacheData = ".data", kCacheIndex = ".index", kCacheLock = ".lock";

// Limits on this process's memory for one cache.
struct DiskCacheRoom {
  static constexpr size_t kPlaceBytes = 112;  // memory per indexed element, in a hash table
  static constexpr size_t kMostWaiting = size_t{64} << 20;
  size_t waiting = kMostWaiting;  // bytes of elements that are not written yet
  size_t places = ~size_t{0};     // indexed elements
};

// In files of a folder, which is created if needed. `key` identifies the pipeline and the data: elements with
// other keys in the same folder are not seen. Several processes may add at once, and soon see the elements of
// the others. When the disk is full no more elements are cached: see trouble(). Elements beyond the limits in
// `room` are neither found nor cached.
Result<std::shared_ptr<ElementCache>> disk_cache(const std::string& folder, const std::string& key,
                                                 const DiskCacheRoom& room = {});

// Identifies the data of a source without reading it: paths, sizes and times of its files. Many files are
// examined by several threads.
std::string data_key(const Source& source);

}  // namespace headrace
