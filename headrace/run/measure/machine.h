// What this process may use of the machine: cores (affinity, cgroup quota) and memory (cgroup limit,
// MemAvailable), and the CPU time it used.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace headrace {

double usable_cpu();           // in cores; a quota may be a fraction
size_t usable_cores();         // usable_cpu() rounded up, at least 1
uint64_t process_cpu_ns();     // CPU time used by all threads of this process
uint64_t machine_cpu_ns();     // CPU time used by all processes on the cores this one may use; 0: unknown
size_t machine_cores();        // the number of those cores
size_t usable_memory_bytes();  // at least 64 MiB
// The memory budget of a loader by default.
inline size_t default_memory_budget() { return usable_memory_bytes() / 4; }

// Limits of the control groups of this process, including parent groups: as set by Slurm, Kubernetes and
// systemd. Negative: no limit.
struct GroupLimits {
  double cores = -1, memory_bytes = -1;
};
// `membership`: the text of /proc/self/cgroup; `root`: where the groups' files are.
GroupLimits group_limits(const std::string& membership, const std::string& root);

// How long the thread that created it was runnable without a core, as counted by Linux. For that thread only.
class CoreWait {
 public:
  CoreWait();
  ~CoreWait();
  CoreWait(const CoreWait&) = delete;
  CoreWait& operator=(const CoreWait&) = delete;
  // Since construction or the last call, ns; 0 where the system does not count it. One system call.
  uint64_t since_last();

 private:
  int file_;
  uint64_t last_ = 0;
};

}  // namespace headrace
