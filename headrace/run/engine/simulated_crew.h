// A run in simulated time, on a machine that is a few numbers: as many cores as one likes, a store of known
// latency and bandwidth, operators and a consumer of known cost. Work is done by the same Executor, Steer and
// Tuner; what it costs is what the machine says. Deterministic.
//
// For tests and benchmarks of the tuner: the best settings can be found by trying all of them.
#pragma once
#include <memory>

#include "headrace/run/engine/crew.h"

namespace headrace {

struct SimulatedMachine {
  uint64_t now_ns = 1;  // its clock, which a run turns
  size_t cores = 2;
  // Of a row, ns.
  double cpu_ns = 0;                       // on a core
  double python_ns = 0;                    // on a core, under the one lock of the interpreter
  double sleep_ns = 0;                     // a function waits
  double slow_one_in = 0, slow_times = 1;  // of some rows cpu_ns is so many times as much; 0: of none
  double unpack_ns = 0;                    // on a core, by who reads it
  // Of a read, ns, and of all reads together.
  double latency_ns = 0;
  double bytes_per_s = 0;    // 0: no bound
  double jitter = 0;         // latencies differ by up to this share
  double consumer_ns = 0;    // of an element
  double pause_ns = 0;       // now and then it does something else,
  uint64_t pause_every = 0;  // after so many elements; 0: never
};

std::unique_ptr<Crew> simulated_crew(Executor& executor, Team& team, Steer& steer, SimulatedMachine& machine);

}  // namespace headrace
