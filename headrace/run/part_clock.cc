#include "headrace/run/part_clock.h"

#include <algorithm>

namespace headrace {

PartClock::Time PartClock::end() {
  const uint64_t ended_ns = now_ns(), wall = ended_ns - began_ns_;
  const bool is_short = wall < kShortNs;
  if (!asks_ && is_short) {
    --left_out_;
    const auto likely = static_cast<uint64_t>(share_ * static_cast<double>(wall));
    since_ns_ += likely;
    return {began_ns_, ended_ns, likely};
  }
  // A long one that nobody expected: what the thread has used since it was asked, but for the short ones.
  const uint64_t now = thread_cpu_ns(), used = now - known_ns_;
  uint64_t cpu = asks_ ? used : std::min(wall, used - std::min(used, since_ns_));
  known_ns_ = now, since_ns_ = 0;
  left_out_ = is_short ? kLeaveOut + turn_++ % kTurns : 0;  // not in step with what comes again
  if (is_short) {
    cpu = std::min(cpu, wall);  // to ask takes its time, too
    share_ += (static_cast<double>(cpu) / static_cast<double>(std::max<uint64_t>(1, wall)) - share_) / 4;
  }
  return {began_ns_, ended_ns, cpu};
}

}  // namespace headrace
