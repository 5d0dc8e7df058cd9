// The counters of a run: calls, CPU time and bytes of every operator. Each worker owns one Counters and is
// the only thread that writes it; a report adds them up.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headrace/run/measure/counter.h"
#include "headrace/run/measure/sample_costs.h"

namespace headrace {

// An operator of the user. If a rewrite made it part of another operator, it is timed there.
struct ReportedOp {
  std::string name;
  std::string within;  // name of the other operator, or empty
};

// The number of images per decoder, by its name.
class DecoderTallies {
 public:
  void add(std::string_view decoder) {
    for (One& one : all_) {
      const char* name = one.name.load(std::memory_order_relaxed);
      if (name && name != decoder) continue;
      if (!name) one.name.store(decoder.data(), std::memory_order_relaxed);
      return one.images.add(1);
    }
  }
  template <class F> void each(F&& f) const {
    for (const One& one : all_)
      if (const char* name = one.name.load(std::memory_order_relaxed)) f(name, one.images.get());
  }

 private:
  struct One {
    std::atomic<const char*> name = nullptr;  // of a literal
    SingleWriterCounter images;
  };
  std::array<One, 12> all_;  // more than there are decoders
};

struct OpTally {
  SingleWriterCounter calls, timed_calls, timed_ns, bytes;
  DecoderTallies decoders;
};

class Counters {
 public:
  explicit Counters(size_t operators, size_t stages = 0) : ops(operators), costs(stages) {}
  std::vector<OpTally> ops;            // by ordinal
  std::vector<SampleCosts> costs;      // by stage number
  SingleWriterCounter parts, busy_ns;  // of workers
  SingleWriterCounter core_wait_ns;    // runnable without a core
  SingleWriterCounter io_reads, io_bytes, io_ns, collate_ns, skipped, replaced;
  SingleWriterCounter reading_cpu_ns, reading_core_wait_ns;  // of readers, including decompression and checks
  SingleWriterCounter reading_python_ns;  // of their CPU time, in Python calls making samples
  SingleWriterCounter opened_again;       // blocks that were dropped for lack of memory
};

// CPU time of the calling thread, ns.
uint64_t thread_cpu_ns();
// Monotonic time, ns since an arbitrary moment.
uint64_t now_ns();
inline double seconds(uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

}  // namespace headrace
