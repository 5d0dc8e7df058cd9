#include "headrace/run/engine/trace.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace headrace {
namespace {

struct Seen {
  uint64_t steps = 0;
  uint64_t waited_ns = 0;
};

Seen seen(Trace& trace) {
  trace.close();
  Seen out;
  for (const Slice& slice : trace.copy().consumer) {
    if (slice.kind == Slice::Kind::step) out.steps += slice.times;
    out.waited_ns += slice.waited_ns;
  }
  return out;
}

// One call of the consumer; `waits`: for its element.
void call(Trace& trace, bool waits) {
  constexpr uint64_t kWaitNs = 1'000'000;
  trace.arrives();
  const uint64_t now = now_ns();
  if (waits) std::this_thread::sleep_for(std::chrono::nanoseconds(kWaitNs));
  trace.leaves(Pull::item, waits ? now : 0, waits ? now_ns() : 0, {});
}

TEST(Trace, StepsThatNobodyLooksAtAreCounted) {
  Trace trace(Trace::Size::page, now_ns());
  for (int i = 0; i < 1000; ++i) call(trace, false);
  EXPECT_EQ(seen(trace).steps, 1000u);
}

TEST(Trace, TheLastStepsOfARunAreCounted) {
  for (const int elements : {1, 20, 100, 500}) {
    Trace trace(Trace::Size::page, now_ns());
    for (int i = 0; i < elements; ++i) call(trace, false);
    trace.arrives();
    trace.leaves(Pull::end, 0, 0, {});
    EXPECT_EQ(seen(trace).steps, static_cast<uint64_t>(elements));
  }
}

TEST(Trace, WaitsBetweenStepsThatNobodyLooksAtAreSeen) {
  Trace trace(Trace::Size::page, now_ns());
  for (int i = 0; i < 200; ++i) call(trace, i % 20 == 19);
  const Seen all = seen(trace);
  EXPECT_GE(all.steps + 10, 200u);  // steps next to a wait may be part of its slice
  EXPECT_GE(all.waited_ns, 10'000'000u);
}

// Repeated timeouts are one wait.
TEST(Trace, CallsThatLeaveWithoutAnElementAreOneWait) {
  Trace trace(Trace::Size::page, now_ns());
  for (int i = 0; i < 100; ++i) call(trace, false);
  const uint64_t begin = now_ns();
  for (int i = 0; i < 5; ++i) {
    trace.arrives();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    trace.leaves(Pull::wait, begin, 0, {});
  }
  trace.arrives();
  trace.leaves(Pull::item, begin, now_ns(), {});
  for (int i = 0; i < 100; ++i) call(trace, false);
  const Seen all = seen(trace);
  EXPECT_GE(all.waited_ns, 5'000'000u);
  EXPECT_GE(all.steps, 199u);
}

}  // namespace
}  // namespace headrace
