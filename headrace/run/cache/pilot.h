// A look at a few samples before a run: what each step on their way costs here, and how large it leaves them.
//
// What is measured decides nothing but speed. Reads and functions of the user are called as in a run, more
// than once for a sample. One thread.
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
  size_t samples = 32;         // at most, spread over epoch 0
  double seconds = 0.3;        // after which no further sample is begun; two are looked at in any case
  std::shared_ptr<Pool> pool;  // for what is under way
};

// Seconds a sample, means.
struct Demand {
  double cpu_s = 0;     // of a core: reads and all
  double busy_s = 0;    // of a worker: its work, and what it waits for; no reads
  double python_s = 0;  // under the lock of an interpreter
  double read_s = 0;    // of a reader, its waits included
  Demand operator+(const Demand& other) const {
    return {cpu_s + other.cpu_s, busy_s + other.busy_s, python_s + other.python_s, read_s + other.read_s};
  }
  Demand operator*(double n) const { return {cpu_s * n, busy_s * n, python_s * n, read_s * n}; }
};

struct StepCost {
  double cpu_s = 0, wait_s = 0;
  std::vector<double> bytes;  // of each output
  bool differs = false;       // called twice for one sample it gave two answers
};

struct Pilot {
  size_t samples = 0, failed = 0;
  Demand below;                     // until the sample reaches the program, in a first epoch
  double read_again_s = 0;          // of below.read_s when the sample was just read: what the system kept
  double read_bytes = 0;            // from the store
  double output_bytes = 0;          // of what leaves the program
  std::vector<double> field_bytes;  // of each field that reaches it
  std::vector<StepCost> steps;      // of the program
  // Of the CPU time of functions of an interpreter, that for which they keep others from its lock: NumPy's
  // and OpenCV's let go of it.
  double lock_share = 1;
};
// What a step needs.
Demand demand_of(const Call& call, const StepCost& cost);

// Of the elements of `below` on their way through `program`. An error where no sample could be made.
// REQUIRES: below->indexed, numbered.
Result<Pilot> look_ahead(const NodePtr& below, const Program& program, std::shared_ptr<Store> store,
                         const PilotOptions& options);

// A way to make elements, of which the first `kept` programs have been run before: what they made is in
// memory.
struct Way {
  std::vector<Program> programs;
  size_t kept = 0;
};
struct WayCost {
  Demand demand;     // of a sample, without its reads
  double bytes = 0;  // of what is in memory of it
};
// All of them on the same samples, in turns.
Result<std::vector<WayCost>> compare(const NodePtr& below, std::span<const Way> ways,
                                     std::shared_ptr<Store> store, const PilotOptions& options);

}  // namespace headrace
