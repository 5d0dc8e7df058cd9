// What a sample costs this machine's processors to read, as the data lie and in containers that could hold
// them: written for the purpose, read by the engine in random order from memory, deleted.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "cli/doctor/look.h"

namespace headrace::cli {

struct ContainerCost {
  std::string format;
  double cpu_s = 0;  // a sample, of all threads
  double bytes = 0;  // a sample, on the disk
};
struct Containers {
  uint64_t samples = 0;               // measured; 0: nothing was
  double as_they_lie_s = 0;           // as ContainerCost::cpu_s
  std::vector<ContainerCost> others;  // the cheapest first; those that can hold the fields
};

// The samples are the first of the data, up to 500, of small ones more, and 32 MB.
Containers measure_containers(const SourcePtr& source, const Look& look);

}  // namespace headrace::cli
