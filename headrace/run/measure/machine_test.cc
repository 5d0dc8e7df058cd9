#include "headrace/run/measure/machine.h"

#include <gtest/gtest.h>

#include "headrace/io/testing/temporary_folder.h"

namespace headrace {
namespace {

TEST(Machine, AGroupIsBoundByAllAboveIt) {
  TemporaryFolder root;
  root.write("slurm/cpu.max", "400000 100000\n");
  root.write("slurm/memory.max", "8000000000\n");
  root.write("slurm/job_7/cpu.max", "max 100000\n");
  root.write("slurm/job_7/memory.max", "16000000000\n");
  const GroupLimits limits = group_limits("0::/slurm/job_7\n", root.path());
  EXPECT_DOUBLE_EQ(limits.cores, 4);
  EXPECT_DOUBLE_EQ(limits.memory_bytes, 8e9);
}

TEST(Machine, ControllersOfTheFirstVersionHaveTreesOfTheirOwn) {
  TemporaryFolder root;
  root.write("cpu/docker/x/cpu.cfs_quota_us", "150000\n");
  root.write("cpu/docker/x/cpu.cfs_period_us", "100000\n");
  root.write("memory/memory.limit_in_bytes", "4000000000\n");
  const GroupLimits limits =
      group_limits("5:memory:/docker/x\n3:cpu,cpuacct:/docker/x\n1:name=systemd:/\n", root.path());
  EXPECT_DOUBLE_EQ(limits.cores, 1.5);
  EXPECT_DOUBLE_EQ(limits.memory_bytes, 4e9);
}

TEST(Machine, WithoutBoundsThereAreNone) {
  TemporaryFolder root;
  root.write("cpu.max", "max 100000\n");
  for (const char* membership : {"0::/\n", "0::/gone/away\n", "", "nonsense", "0:"}) {
    EXPECT_LT(group_limits(membership, root.path()).cores, 0) << membership;
    EXPECT_LT(group_limits(membership, root.path()).memory_bytes, 0) << membership;
  }
}

TEST(Machine, ItsCoresWorkAtLeastAsLongAsThisProcess) {
  const uint64_t all = machine_cpu_ns(), own = process_cpu_ns();
  if (all == 0) GTEST_SKIP() << "not available on this system";
  constexpr uint64_t kWork = 200'000'000, kTicks = 40'000'000;
  while (process_cpu_ns() - own < kWork) {
  }
  EXPECT_GE(machine_cpu_ns() - all + kTicks, kWork);
}

}  // namespace
}  // namespace headrace
