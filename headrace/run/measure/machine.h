// What this process may use of the machine: cores (affinity, cgroup quota) and memory (cgroup limit,
// MemAvailable), and what it got of the cores.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace headrace {

double usable_cpu();        // cores' worth of it; a quota may end in a fraction
size_t usable_cores();      // at least 1, and all that there is some of
uint64_t process_cpu_ns();  // that all threads of this process have used
uint64_t machine_cpu_ns();  // that all processes have used of the cores that this one may use; 0: not known
size_t machine_cores();     // how many those are
size_t usable_memory_bytes();  // at least 64 MiB
// Of a loader, unless somebody says how much it may take.
inline size_t default_memory_budget() { return usable_memory_bytes() / 4; }

// What the control groups allow that this process is in, each within the one above it: as Slurm, Kubernetes
// and systemd set them. Numbers below 0: no bound.
struct GroupLimits {
  double cores = -1, memory_bytes = -1;
};
// `membership`: the text of /proc/self/cgroup; `root`: where the groups' files are.
GroupLimits group_limits(const std::string& membership, const std::string& root);

// How long the thread that made it was ready to run and had no core, as Linux counts it. For that thread
// only.
class CoreWait {
 public:
  CoreWait();
  ~CoreWait();
  CoreWait(const CoreWait&) = delete;
  CoreWait& operator=(const CoreWait&) = delete;
  // Since it was made or last asked, ns; 0 where the system does not count. One system call.
  uint64_t since_last();

 private:
  int file_;
  uint64_t last_ = 0;
};

}  // namespace headrace
