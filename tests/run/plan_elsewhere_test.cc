// A plan runs where it is loaded: with the ranks of that process, and at the paths that it is given there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "headrace/graph/node.h"
#include "headrace/headrace.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<int64_t> numbers(const Dataset& dataset) {
  auto loader = dataset.loader();
  if (!loader.ok()) return {-1};
  std::vector<int64_t> out;
  for (Sample sample; *(*loader)->next(sample);) out.push_back(sample.fields[0].view().as<int64_t>()[0]);
  return out;
}

struct Environment2of4 {
  Environment2of4() { ::setenv("RANK", "2", 1), ::setenv("WORLD_SIZE", "4", 1); }
  ~Environment2of4() { ::unsetenv("RANK"), ::unsetenv("WORLD_SIZE"); }
};

TEST(PlanElsewhere, AShardWithoutNumbersAsksWhereItRuns) {
  const Dataset dataset = range(8).shard();
  const std::string plan = *dataset.plan();
  EXPECT_THAT(plan, HasSubstr("\"ranks\": \"environment\""));
  EXPECT_THAT(plan, Not(HasSubstr("\"world\"")));
  EXPECT_EQ(numbers(dataset).size(), 8U);
  const Environment2of4 elsewhere;
  EXPECT_THAT(numbers(dataset), ElementsAre(2, 6));
  EXPECT_THAT(numbers(load_plan(plan)->dataset), ElementsAre(2, 6));
  EXPECT_THAT(numbers(range(8).shard({.replicate = 2})), ElementsAre(1, 3, 5, 7));
  EXPECT_THAT(numbers(range(8).shard({.rank = 0, .world = 2})), ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(range(8).shard({.rank = 0}).node().status().text(),
              HasSubstr("both rank and world or neither"));
}

TEST(PlanElsewhere, RanksMayBeGivenToLoadPlan) {
  Bindings bindings;
  bindings.ranks = [] { return Result<Ranks>(Ranks{.rank = 1, .world = 4}); };
  const Dataset loaded = load_plan(*range(8).shard().plan(), bindings)->dataset;
  EXPECT_EQ((*loaded.node())->size, 2U);
  EXPECT_EQ((*loaded.node())->shard->rank, 1U);
}

TEST(PlanElsewhere, AReadMayHaveAnotherPath) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "plan_elsewhere";
  std::filesystem::create_directories(folder / "b");
  std::ofstream(folder / "a.csv") << "x\n1\n2\n";
  const std::string plan = *read((folder / "a.csv").string()).plan();
  std::filesystem::rename(folder / "a.csv", folder / "b" / "c.csv");
  EXPECT_FALSE(load_plan(plan).ok());
  Bindings bindings;
  bindings.paths["read_0"] = {(folder / "b" / "c.csv").string()};
  EXPECT_THAT(numbers(load_plan(plan, bindings)->dataset), ElementsAre(1, 2));
  bindings.paths["read_1"] = {"nowhere"};
  EXPECT_THAT(
      std::string(load_plan(plan, bindings).status().text()),
      HasSubstr("plan: expected the name of a read of the plan, got 'read_1'; its reads are 'read_0' ("));
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace headrace
