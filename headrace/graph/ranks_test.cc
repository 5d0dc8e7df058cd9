#include "headrace/graph/ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace headrace {
namespace {

using ::testing::HasSubstr;

Result<Ranks> ranks_in(const std::map<std::string, std::string>& variables) {
  return ranks([&](const char* name) -> std::optional<std::string> {
    const auto it = variables.find(name);
    return it == variables.end() ? std::nullopt : std::optional(it->second);
  });
}

std::map<std::string, std::string> step(const char* rank, const char* size) {
  return {
      {"SLURM_JOB_ID", "1"}, {"SLURM_STEP_ID", "0"}, {"SLURM_PROCID", rank}, {"SLURM_STEP_NUM_TASKS", size}};
}

TEST(Ranks, TheNearestLauncherDecides) {
  EXPECT_EQ(*ranks_in({}), Ranks{.why = "No launcher has set its variables, so this is the only process."});
  auto variables = step("1", "2");
  EXPECT_EQ(ranks_in(variables)->launcher, "Slurm");
  variables.insert({{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "4"}});
  EXPECT_EQ(
      *ranks_in(variables),
      (Ranks{2, 4, "Open MPI",
             "OMPI_COMM_WORLD_RANK=2 and OMPI_COMM_WORLD_SIZE=4 are set; Slurm around it has rank 1 of 2."}));
  variables.insert({{"RANK", "9"}, {"WORLD_SIZE", "16"}, {"GROUP_RANK", "2"}, {"LOCAL_WORLD_SIZE", "4"}});
  EXPECT_EQ(ranks_in(variables)->rank, 9U);
  EXPECT_EQ(ranks_in(variables)->launcher, "torchrun");
}

TEST(Ranks, RankWithoutProofHasToFitTheLauncherAroundIt) {
  for (const auto& [rank, world, fits] : {std::tuple{"1", "2", true}, {"5", "8", true}, {"3", "8", false}}) {
    auto variables = step("1", "2");
    variables.insert({{"RANK", rank}, {"WORLD_SIZE", world}});
    EXPECT_EQ(ranks_in(variables).ok(), fits) << rank << " of " << world;
  }
}

TEST(Ranks, ABatchScriptIsOneProcess) {
  const Ranks found = *ranks_in({{"SLURM_JOB_ID", "1"}, {"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}});
  EXPECT_EQ(found.world, 1U);
  EXPECT_THAT(found.warning, HasSubstr("got a batch script of 8 tasks: this is one process"));
}

TEST(Ranks, ConsecutiveRanksShareTheirData) {
  const Ranks shared = *with_replicas({.rank = 5, .world = 8}, 4);
  EXPECT_EQ(shared.rank, 1U);
  EXPECT_EQ(shared.world, 2U);
  const Result<Ranks> refused = with_replicas({.rank = 5, .world = 8}, 3);
  EXPECT_EQ(refused.status().text(), "shard: expected a world size that replicate=3 divides, got 8");
}

}  // namespace
}  // namespace headrace
