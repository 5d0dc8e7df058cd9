// How fast this machine moves bytes: a few milliseconds of trying. One thread.
#pragma once
#include <string>

#include "headrace/core/status.h"

namespace headrace {

// Seconds a byte.
struct MemorySpeed {
  double read = 0, write = 0;  // of memory that is in no cache
};
MemorySpeed probe_memory();

struct DiskSpeed {
  double write = 0;      // until it is on the disk
  double read = 0;       // what the system keeps in memory, with a checksum
  double cold_read = 0;  // what it does not, if it can be made to forget
};
// In a file that is gone afterwards.
Result<DiskSpeed> probe_disk(const std::string& folder);

}  // namespace headrace
