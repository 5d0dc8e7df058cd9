// CPU time of other processes that work for a thread of this one: only for reports. The waiting thread
// records it as its own, so that no interface between it and the report has to pass it on.
#pragma once
#include <cstdint>

namespace headrace {

// Adds it to thread_cpu_ns() of this thread.
void add_cpu_elsewhere(uint64_t ns);

}  // namespace headrace
