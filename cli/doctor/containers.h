// CPU time to read a sample on this machine, as the data is stored and in containers that could hold it:
// those are written to temporary files, read by the engine in random order from memory, and deleted.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "cli/doctor/look.h"

namespace headrace::cli {

struct ContainerCost {
  std::string format;
  double cpu_s = 0;  // per sample, all threads
  double bytes = 0;  // per sample, on the disk
};
struct Containers {
  uint64_t samples = 0;               // measured; 0: none
  double as_they_lie_s = 0;           // as stored; like ContainerCost::cpu_s
  std::vector<ContainerCost> others;  // those that can hold the fields, the cheapest first
};

// Measures the first samples: up to 500, more of small ones, at most 32 MB.
Containers measure_containers(const SourcePtr& source, const Look& look);

}  // namespace headrace::cli
