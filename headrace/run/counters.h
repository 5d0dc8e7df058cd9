// What a run counts: calls, CPU time and bytes of every operator. Each worker owns one Counters and nobody
// else writes it; a report adds them up.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace headrace {

// A number that one thread writes and others may read at any time.
class Tally {
 public:
  void add(uint64_t n) {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

// An operator of the user. One that a rewrite made part of another is timed there.
struct ReportedOp {
  std::string name;
  std::string within;  // name of the other, or nothing
};

struct OpTally {
  Tally calls, timed_calls, timed_ns, bytes;
};

class Counters {
 public:
  explicit Counters(size_t operators) : ops(operators) {}
  std::vector<OpTally> ops;  // by ordinal
  Tally parts, busy_ns;
  Tally core_wait_ns;  // ready to run, without a core
  Tally io_reads, io_bytes, io_ns, collate_ns, skipped, replaced;
};

// CPU time of the calling thread, ns.
uint64_t thread_cpu_ns();

}  // namespace headrace
