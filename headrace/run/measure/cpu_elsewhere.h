// CPU time of other processes that work for a thread of this one: for reports alone. Whoever waits for them
// says it of the thread that waits, so that no interface between it and the report has to carry it.
#pragma once
#include <cstdint>

namespace headrace {

// thread_cpu_ns() counts it as this thread's own from now on.
void add_cpu_elsewhere(uint64_t ns);

}  // namespace headrace
