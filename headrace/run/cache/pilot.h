// Measures a few samples before a run: the cost of each step and the size of its outputs.
//
// Measurements affect only speed. Reads and functions of the user are called as in a run, more than once for
// a sample. For one thread.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "headrace/graph/node.h"
#include "headrace/run/read/fetch.h"

namespace headrace {

struct PilotOptions {
  uint64_t seed = 0;
  size_t samples = 32;         // maximum, spread over epoch 0
  double seconds = 0.3;        // after which no further sample is begun; at least two are measured
  std::shared_ptr<Pool> pool;  // for samples in progress
};

// Seconds per sample, means.
struct Demand {
  double cpu_s = 0;     // of a core, including reads
  double busy_s = 0;    // of a worker: its work and its waits, without reads
  double python_s = 0;  // under the GIL
  double read_s = 0;    // of a reader, including waits
  Demand operator+(const Demand& other) const {
    return {cpu_s + other.cpu_s, busy_s + other.busy_s, python_s + other.python_s, read_s + other.read_s};
  }
  Demand operator*(double n) const { return {cpu_s * n, busy_s * n, python_s * n, read_s * n}; }
};

struct StepCost {
  double cpu_s = 0, wait_s = 0;
  std::vector<double> bytes;  // of each output
  bool differs = false;       // two calls for one sample gave different results
};

struct Pilot {
  size_t samples = 0, failed = 0;
  Demand below;                     // until the sample reaches the program, in a first epoch
  double read_again_s = 0;          // below.read_s when the sample was just read and is in the page cache
  double read_bytes = 0;            // from the store
  double output_bytes = 0;          // of the program
  std::vector<double> field_bytes;  // of each input field
  std::vector<StepCost> steps;      // of the program
  // The share of the CPU time of Python functions in which they hold the GIL: those of NumPy and OpenCV
  // release it.
  double lock_share = 1;
};
// The demand of a step.
Demand demand_of(const Call& call, const StepCost& cost);

// Measures elements of `below` going through `program`. An error where no sample could be made.
// REQUIRES: below->indexed, numbered.
Result<Pilot> look_ahead(const NodePtr& below, const Program& program, std::shared_ptr<Store> store,
                         const PilotOptions& options);

// A way to make elements in which the outputs of the first `kept` programs are already in memory.
struct Way {
  std::vector<Program> programs;
  size_t kept = 0;
};
struct WayCost {
  Demand demand;     // of a sample, without its reads
  double bytes = 0;  // of a sample in memory
};
// Measures all ways on the same samples, alternating.
Result<std::vector<WayCost>> compare(const NodePtr& below, std::span<const Way> ways,
                                     std::shared_ptr<Store> store, const PilotOptions& options);

}  // namespace headrace
