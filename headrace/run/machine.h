// What this process may use of the machine: cores (affinity, cgroup quota) and memory (cgroup limit,
// MemAvailable).
#pragma once
#include <cstddef>

namespace headrace {

size_t usable_cores();         // at least 1
size_t usable_memory_bytes();  // at least 64 MiB

}  // namespace headrace
