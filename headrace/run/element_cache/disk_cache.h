// What `cache(path)` keeps.
#pragma once
#include <memory>
#include <string>
#include <string_view>

#include "headrace/core/element_cache.h"
#include "headrace/formats/source.h"

namespace headrace {

// Of its files: elements, where they are, and who may write.
inline constexpr std::string_view kCacheData = ".data", kCacheIndex = ".index", kCacheLock = ".lock";

// What one may take of this process's memory.
struct DiskCacheRoom {
  static constexpr size_t kPlaceBytes = 112;  // that a place takes, in a hash table
  static constexpr size_t kMostWaiting = size_t{64} << 20;
  size_t waiting = kMostWaiting;  // bytes of elements that are not written yet
  size_t places = ~size_t{0};     // elements that it knows of
};

// In files of a folder, which is made where there is none. `key` names the pipeline and the data: elements of
// others in the same folder are not seen. Several processes may add at once, and see within a moment what the
// others added. Without room on the disk nothing more is kept: see trouble(). What `room` has no place for is
// not there, and not kept.
Result<std::shared_ptr<ElementCache>> disk_cache(const std::string& folder, const std::string& key,
                                                 const DiskCacheRoom& room = {});

// Which data a source reads, as far as can be told without reading them: where its files lie, and their sizes
// and times. Many files are looked at by several threads.
std::string data_key(const Source& source);

}  // namespace headrace
