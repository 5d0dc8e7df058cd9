#include "headrace/run/measure/part_clock.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

namespace headrace {
namespace {

void work(uint64_t ns) {
  for (const uint64_t until = thread_cpu_ns() + ns; thread_cpu_ns() < until;) {
  }
}

TEST(PartClock, AddsUpToWhatTheThreadHasUsed) {
  PartClock clock;
  uint64_t sum = 0;
  const uint64_t begin = thread_cpu_ns();
  for (int i = 0; i < 2000; ++i) {
    clock.begin();
    work(i % 50 == 0 ? 1'000'000 : 5'000);  // 40 ms of long ones, 10 ms of short ones
    sum += clock.end().cpu_ns;
  }
  const auto used = static_cast<double>(thread_cpu_ns() - begin);
  EXPECT_GT(static_cast<double>(sum), 0.8 * used);
  EXPECT_LT(static_cast<double>(sum), 1.2 * used);
}

// As when each long part is followed by a short one that ends its ticket.
TEST(PartClock, KnowsThatPartsWaitBetweenShortOnesThatDoNot) {
  PartClock clock;
  uint64_t waited = 0, slept = 0;
  for (int i = 0; i < 40; ++i) {
    clock.begin();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const PartClock::Time time = clock.end();
    slept += time.wall_ns(), waited += time.wall_ns() - time.cpu_ns;
    clock.begin();
    work(2'000);
    (void)clock.end();
  }
  EXPECT_GT(static_cast<double>(waited), 0.8 * static_cast<double>(slept));
}

// Work between parts that are not measured belongs to no part.
TEST(PartClock, KnowsThatAPartWaitsBehindManyTinyOnes) {
  PartClock clock;
  uint64_t told = 0;
  for (int round = 0; round < 60; ++round) {
    for (int i = 0; i < 40 + round; ++i) {
      clock.begin();
      work(500);
      (void)clock.end();
      work(500);
    }
    clock.begin();
    std::this_thread::sleep_for(std::chrono::microseconds(200));
    told += clock.end().cpu_ns;
  }
  EXPECT_LT(told / 60, 60'000u);
}

// In each epoch the workers are the same, but their threads are not.
TEST(PartClock, DoesNotTakeAnotherThreadsTimeForItsOwn) {
  PartClock clock;
  std::thread([&] {
    for (int i = 0; i < 5; ++i) {
      clock.begin();
      work(20'000);
      (void)clock.end();
    }
  }).join();
  PartClock::Time time{};
  std::thread([&] {
    clock.restart();
    clock.begin();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    time = clock.end();
  }).join();
  EXPECT_LT(time.cpu_ns, time.wall_ns() / 2);
}

TEST(PartClock, NeverSaysThatAShortPartWorkedLongerThanItTook) {
  PartClock clock;
  uint64_t wall = 0, cpu = 0;
  for (int i = 0; i < 3200; ++i) {
    clock.begin();
    if (i % 16 != 0) work(20'000);
    const PartClock::Time time = clock.end();
    wall += time.wall_ns(), cpu += time.cpu_ns;
  }
  EXPECT_LE(cpu, wall);
}

// The measurement takes time, which does not belong to the part.
TEST(PartClock, NorThatALongOneDid) {
  PartClock clock;
  for (int i = 0; i < 200; ++i) {
    clock.restart();  // the next part is measured
    clock.begin();
    work(100'000);
    const PartClock::Time time = clock.end();
    ASSERT_LE(time.cpu_ns, time.wall_ns());
  }
}

}  // namespace
}  // namespace headrace
