// Plans and states from untrusted sources: whatever their numbers are, they are rejected or they run.
#include <gtest/gtest.h>

#include <functional>
#include <limits>

#include "headrace/graph/plan/plan_json.h"
#include "headrace/headrace.h"
#include "headrace/io/testing/memory_store.h"
#include "headrace/run/state/iteration_state.h"

namespace headrace {
namespace {

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

std::unique_ptr<Loader> make_hostile(const Dataset& dataset, uint64_t seed = 1) {
  LoaderOptions options;
  options.virtual_seed = seed, options.workers = 2, options.io = 1, options.memory_budget = size_t{1} << 20;
  auto loader = dataset.loader(std::move(options));
  EXPECT_TRUE(loader.ok()) << loader.status().text();
  return *std::move(loader);
}

// Runs a few elements: errors are fine, crashes and endless loops are not.
void run_a_little(Loader& loader) {
  Sample sample;
  for (int i = 0; i < 3; ++i) {
    const auto more = loader.next(sample);
    if (!more.ok() || !*more) return;
  }
}

std::vector<Dataset> hostile_datasets() {
  const auto small = [](const Fields& s) { return s["value"].apply("less", {{"value", 60}}); };
  const Dataset base = range(100);
  return {base.shuffle({.seed = 1}).batch(7), base.filter(small).take(33).repeat(2).skip(3).batch(5),
          base.shuffle({.seed = 5, .window = 9}).batch(4),
          base.take(20).filter(small).concatenate(range(1000, 1030)).batch(6),
          base.filter(small).shard({.rank = 1, .world = 3, .steps = 40}).batch(4)};
}

// A state without the sum of its members, which would refuse each change.
Value unsummed(const Value& state) {
  Value out{Value::Object()};
  for (const auto& [name, value] : *state.object())
    if (name != "check") out.set(name, value);
  return out;
}

// Calls `use` with the value in which one number is replaced by a hostile one, for each.
void each_hostile(const Value& value, const std::function<void(Value)>& use) {
  if (value.integer())
    for (const int64_t number : {int64_t{0}, int64_t{-1}, int64_t{1} << 33, kHuge, -kHuge, int64_t{200}})
      use(number);
  if (const auto* list = value.list())
    for (size_t i = 0; i < list->size(); ++i)
      each_hostile((*list)[i], [&](Value changed) {
        Value::List all = *list;
        all[i] = std::move(changed);
        use(std::move(all));
      });
  if (value.object())
    for (const auto& [name, item] : *value.object())
      each_hostile(item, [&](Value changed) {
        Value all = value;
        all.set(name, std::move(changed));
        use(std::move(all));
      });
}

TEST(HostileState, IsRefusedOrRuns) {
  for (const Dataset& dataset : hostile_datasets()) {
    auto first = make_hostile(dataset);
    Sample sample;
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(first->next(sample).ok());
    const auto state = first->save();
    ASSERT_TRUE(state.ok());
    each_hostile(unsummed(*state), [&](const Value& changed) {
      auto second = make_hostile(dataset);
      if (second->load(changed).ok()) run_a_little(*second);
    });
  }
}

TEST(HostileState, DealsAreRefusedOrRun) {
  const auto small = [](const Fields& s) { return s["value"].apply("less", {{"value", 60}}); };
  const Dataset dataset = range(100).shard({.rank = 1, .world = 3, .steps = 40}).filter(small).batch(4);
  Sample sample;
  auto first = make_hostile(dataset);
  ASSERT_TRUE(first->next(sample).ok());
  const Value state = unsummed(*first->save());
  ASSERT_NE(state.find("dealt"), nullptr) << state.dump();
  for (const char* dealt :
       {"{}", "[]", "3", R"({"taken":-1})", R"({"taken":9223372036854775807})", R"({"before":[[]]})",
        R"({"before":[7]})", R"({"before":[[9223372036854775807,9223372036854775807],[1]],"taken":3})",
        R"({"partial":[[3]]})",
        R"({"partial":[[3,9223372036854775807],[3,0]],"outputs":9223372036854775807})",
        R"({"taken":5,"round":9223372036854775807,"again":9223372036854775807})"}) {
    Value changed = state;
    changed.set("dealt", *Value::parse(dealt));
    auto second = make_hostile(dataset);
    if (second->load(changed).ok()) run_a_little(*second);
    (void)merge_states(std::vector<Value>{changed, changed, changed});
  }
}

TEST(HostileState, SaysWhatIsWrong) {
  const auto refusal = [](const char* key, int64_t number) {
    auto loader = make_hostile(hostile_datasets()[4]);
    Sample sample;
    EXPECT_TRUE(loader->next(sample).ok());
    Value state = *loader->save();
    state.set(key, number);
    return std::string(loader->load(state).text());
  };
  EXPECT_EQ(refusal("rank", (int64_t{1} << 32) + 1),
            "state: rank: expected a whole number from 0 to 4294967295, got 4294967297");
  EXPECT_EQ(refusal("rank", -1), "state: rank: expected a whole number from 0 to 4294967295, got -1");
  EXPECT_EQ(refusal("epoch", -1), "state: epoch: expected a whole number of at least 0, got -1");
}

// The state records elements, but the data has none any more. steps= wraps around, but must not do so
// forever.
TEST(HostileState, StepsOverNothingEnd) {
  const auto below = [](int limit) {
    const auto small = [limit](const Fields& s) { return s["value"].apply("less", {{"value", limit}}); };
    return make_hostile(range(100).filter(small).shard({.rank = 1, .world = 3, .steps = 40}));
  };
  const auto full = below(60), empty = below(-1);
  Sample sample;
  ASSERT_TRUE(full->next(sample).ok());
  Value state = *full->save();
  state.set("fingerprint", empty->fingerprint());
  const Status loaded = empty->load(state);
  ASSERT_TRUE(loaded.ok()) << loaded.text();
  const auto more = empty->next(sample);
  ASSERT_FALSE(more.ok());
  EXPECT_NE(more.status().text().find("no elements"), std::string_view::npos) << more.status().text();
}

TEST(HostileState, ProductsOfSizesDoNotWrap) {
  const auto loader = make_hostile(range(int64_t{1} << 40).repeat(uint64_t{1} << 40).batch(8));
  Value state = *loader->save();
  state.set("consumed", kHuge);
  (void)loader->load(state);  // 2^80 samples per epoch: no state is beyond its end
  const auto small = make_hostile(range(100).repeat(3).batch(8));
  state = *small->save();
  state.set("consumed", int64_t{301});
  EXPECT_EQ(small->load(state).text(), "state: 'consumed' is 301, but an epoch has 300");
}

std::string refusal_of_plan(std::string_view json) {
  MemoryStore store;
  const auto value = Value::parse(json);
  EXPECT_TRUE(value.ok()) << value.status().text();
  return std::string(plan_from_value(*value, store, {}).status().text());
}

TEST(HostilePlan, NumbersThatDoNotFitAreRefused) {
  const Dataset sharded = range(10).shard({.rank = 1, .world = 3});
  Value plan = plan_to_value(*sharded.node());
  plan.set("rank", (int64_t{1} << 32) + 1);
  EXPECT_EQ(refusal_of_plan(plan.dump()),
            "plan: shard: rank must be a whole number from 0 to 2^32 - 1, got 4294967297");

  const Dataset mapped =
      range(10).map([](const Fields& s) { return Outputs{{"x", s["value"].apply("add", {{"value", 1}})}}; });
  std::string text = plan_to_value(*mapped.node()).dump();
  const size_t at = text.find("\"in\":[0]");
  ASSERT_NE(at, std::string::npos) << text;
  text.replace(at, 8, "\"in\":[4294967296]");
  EXPECT_EQ(refusal_of_plan(text), "plan: add.in must contain 32-bit numbers, got 4294967296");
}

TEST(HostilePlan, WhatWouldBeAnotherPipelineIsRefused) {
  const auto refusal = [](std::string text, std::string_view old, std::string_view changed) {
    const size_t at = text.find(old);
    EXPECT_NE(at, std::string::npos) << text;
    text.replace(at, old.size(), changed);
    const auto loaded = load_plan(text);
    return std::string(loaded.ok() ? "" : loaded.status().text());
  };
  const Dataset doubled =
      range(10).map([](const Fields& s) { return Outputs{{"x", s["value"].apply("add", {{"value", 1}})}}; });
  const std::string plan = *doubled.plan(7);
  EXPECT_TRUE(load_plan(plan).ok());
  EXPECT_EQ((*load_plan(*doubled.plan(~uint64_t{0}))).seed, ~uint64_t{0});
  EXPECT_EQ(refusal(plan, "\"seed\": 7", "\"seed\": 18446744073709551615"), "");
  EXPECT_NE(refusal(plan, "\"start\": 0", "\"start\": 18446744073709551615"), "");
  EXPECT_NE(refusal(plan, "\"seed\": 7,", ""), "");
  EXPECT_NE(refusal(plan, "\"seed\": 7", "\"seed\": 7, \"sed\": 8"), "");
  EXPECT_NE(refusal(plan, "\"seed\": 7", "\"seed\": 7, \"seed\": 8"), "");
  EXPECT_NE(refusal(plan, "\"structure\": \"{\\\"x\\\":0}\"", "\"structure\": \"\""), "");
  const std::string mixed = *mix({range(3), range(4)}, {.weights = {1, 2}}).plan(7);
  EXPECT_NE(refusal(mixed, "\"from\": 0", "\"from\": 0, \"form\": 3"), "");
}

TEST(HostilePlan, ABatchOfMoreRowsThanTheBudgetHasBytesIsAnError) {
  const auto loader = make_hostile(range(kHuge).batch(uint64_t{1} << 31, {.ragged = true}));
  Sample sample;
  const auto more = loader->next(sample);
  ASSERT_FALSE(more.ok());
  EXPECT_EQ(more.status().code(), Code::exhausted) << more.status().text();
}

TEST(HostileShape, SizesDoNotWrap) {
  EXPECT_EQ(Shape({kHuge, 2}).count(), kHuge);
  EXPECT_EQ(Shape({int64_t{1} << 32, int64_t{1} << 32}).count(), kHuge);
  EXPECT_EQ(Shape({kHuge, 0, kHuge}).count(), 0);
  EXPECT_EQ(Shape({kHuge}).size_bytes(DType::f64), ~size_t{0});
  EXPECT_EQ(Shape({3, 5}).size_bytes(DType::f32), 60u);
  EXPECT_TRUE(Scratch().take(~size_t{0}).empty());
  EXPECT_TRUE(Scratch().take<double>(~size_t{0} / 4).empty());
  EXPECT_EQ(Pool::make(1000)->take(~size_t{0}, Use::other), nullptr);
}

}  // namespace
}  // namespace headrace
