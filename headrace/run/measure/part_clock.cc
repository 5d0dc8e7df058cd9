#include "headrace/run/measure/part_clock.h"

#include <algorithm>

namespace headrace {

PartClock::Time PartClock::ask(uint64_t ended_ns) {
  const uint64_t wall = ended_ns - began_ns_;
  const bool is_short = wall < kShortNs;
  // An unexpected long part: the CPU time of the thread since the last measurement, without the short parts.
  const uint64_t now = cpu_ns(), used = now - known_ns_;
  // The measurement takes time itself, which does not belong to the part.
  const uint64_t cpu = std::min(wall, asks_ ? used : used - std::min(used, since_ns_));
  known_ns_ = now, since_ns_ = 0;
  const uint32_t to_leave_out = kLeaveOut + turn_++ % kTurns;  // not in step with periodic work
  left_out_ = wall < kTinyNs ? kMoreOfTiny * to_leave_out : is_short ? to_leave_out : 0;
  if (is_short)
    share_ += (static_cast<double>(cpu) / static_cast<double>(std::max<uint64_t>(1, wall)) - share_) / 4;
  return {began_ns_, ended_ns, cpu, is_short};
}

}  // namespace headrace
