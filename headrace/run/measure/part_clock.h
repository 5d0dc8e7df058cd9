// CPU time of consecutive parts of one thread, with that of processes that worked for them. A measurement
// costs up to a microsecond, so only some of the short parts are measured, and the others are estimated from
// them.
#pragma once
#include <cstdint>

#include "headrace/run/measure/counters.h"

namespace headrace {

class PartClock {
 public:
  // Call when another thread continues with this clock.
  void restart() { left_out_ = 0; }

  // CPU time of other processes while the thread waited for them.
  void add_elsewhere(uint64_t ns) { elsewhere_ns_ += ns; }
  uint64_t elsewhere_ns() const { return elsewhere_ns_; }
  // That of this thread and, since the clock was made, of those processes: compare it with an earlier one.
  uint64_t cpu_ns() const { return thread_cpu_ns() + elsewhere_ns_; }

  void begin() {
    asks_ = left_out_ == 0;
    if (asks_) known_ns_ = cpu_ns(), since_ns_ = 0;
    const uint64_t now = now_ns();
    // The work between two short parts is short as well; longer times are idle.
    if (const uint64_t between = now - ended_ns_; !asks_ && between < kBetweenNs) since_ns_ += between;
    began_ns_ = now;
  }

  struct Time {
    uint64_t began_ns = 0, ended_ns = 0, cpu_ns = 0;
    bool is_short = false, was_asked_about = true;  // false: cpu_ns is an estimate
    uint64_t wall_ns() const { return ended_ns - began_ns; }
  };
  Time end() {
    const uint64_t ended_ns = ended_ns_ = now_ns(), wall = ended_ns - began_ns_;
    if (asks_ || wall >= kShortNs) return ask(ended_ns);
    --left_out_;
    const auto likely = static_cast<uint64_t>(share_ * static_cast<double>(wall));
    since_ns_ += likely;
    return {began_ns_, ended_ns, likely, true, false};
  }

 private:
  Time ask(uint64_t ended_ns);

  static constexpr uint64_t kShortNs = 50'000, kTinyNs = 5'000;
  static constexpr uint32_t kLeaveOut = 12, kTurns = 8;  // leaves out the next 12 to 19
  static constexpr uint32_t kMoreOfTiny = 4;             // factor for tiny parts
  static constexpr uint64_t kBetweenNs = 3'000;
  uint64_t began_ns_ = 0, ended_ns_ = 0, elsewhere_ns_ = 0;
  uint64_t known_ns_ = 0, since_ns_ = 0;  // CPU time at the last measurement; that of short parts since then
  double share_ = 1;                      // CPU time of short parts as a share of wall time: a moving average
  uint32_t left_out_ = 0, turn_ = 0;      // the number of next parts that are not measured
  bool asks_ = true;
};

}  // namespace headrace
