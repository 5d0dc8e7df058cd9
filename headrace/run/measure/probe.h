// Measures how fast this machine moves bytes, in a few milliseconds. One thread.
#pragma once
#include <string>

#include "headrace/core/status.h"

namespace headrace {

// Seconds per byte.
struct MemorySpeed {
  double read = 0, write = 0;  // of uncached memory
};
MemorySpeed probe_memory();

struct DiskSpeed {
  double write = 0;      // including the sync to disk
  double read = 0;       // from the page cache, with a checksum
  double cold_read = 0;  // from disk, if the page cache can be dropped
};
// Uses a temporary file in `folder`.
Result<DiskSpeed> probe_disk(const std::string& folder);

}  // namespace headrace
