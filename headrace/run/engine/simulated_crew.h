// A run in simulated time, on a machine described by a few numbers: cores, latency and bandwidth of the
// store, costs of operators and of the consumer. Work is done by the same Executor, Steer and Tuner; only its
// cost is simulated. Deterministic.
//
// For tests and benchmarks of the tuner: the best settings can be found by trying all of them.
#pragma once
#include <memory>

#include "headrace/run/engine/crew.h"

namespace headrace {

struct SimulatedMachine {
  uint64_t now_ns = 1;  // its clock, advanced by a run
  size_t cores = 2;
  size_t others = 0;      // programs that always compute, on the same cores,
  double slice_ns = 3e6;  // and how long one keeps a core that a thread of the run waits for
  // Per row, ns.
  double cpu_ns = 0;                       // on a core
  double python_ns = 0;                    // on a core, under the GIL
  double sleep_ns = 0;                     // waiting in a function
  double slow_one_in = 0, slow_times = 1;  // one row in n costs `slow_times` cpu_ns; 0: no row
  double unpack_ns = 0;                    // on a core, in the reader
  // Per read, ns, and of all reads together.
  double latency_ns = 0;
  double bytes_per_s = 0;    // 0: no limit
  double jitter = 0;         // latencies vary by up to this share
  double consumer_ns = 0;    // per element
  double pause_ns = 0;       // the consumer pauses this long
  uint64_t pause_every = 0;  // after this many elements; 0: never
};

std::unique_ptr<Crew> simulated_crew(Executor& executor, Team& team, Steer& steer, SimulatedMachine& machine);

}  // namespace headrace
