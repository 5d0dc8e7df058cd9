#include "headrace/graph/passes/cut.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

const Schema kSample = Schema::of({"image", "label"}, {{DType::bytes, {kAny}}, {DType::i64, {}}});

// decode_image, resize, random_crop; and, independent of those, label + 1.
Program augment(bool with_valid = false) {
  ProgramBuilder builder(kSample, "map at train.py:3");
  const int image = *builder.field("image"), label = *builder.field("label");
  std::vector<std::string> names{"image", "label"};
  std::vector<int> outputs;
  int valid = with_valid ? builder.field(kValidField) : -1;
  const auto next = [&](std::string_view op, const Value& params, int input) {
    return (*builder.add(op, params, std::array{input}))[0];
  };
  const int decoded = next("decode_image", Value::Object{{"match", "exact"}}, image);
  const int resized = next("resize", Value::Object{{"size", Value::List{8, 8}}}, decoded);
  const int cropped = next("random_crop", Value::Object{{"size", Value::List{4, 4}}}, resized);
  const int more = next("add", Value::Object{{"value", 1}}, label);
  outputs = {cropped, more};
  if (with_valid) names.emplace_back("valid"), outputs.push_back(valid);
  return *builder.finish(names, outputs);
}

std::vector<std::string> names_of(const Program& program) {
  std::vector<std::string> out;
  for (const Call& call : program.steps) out.emplace_back(call.op->name());
  return out;
}

TEST(Cut, WhatDrawsAndWhatIsMadeOfItVaries) {
  EXPECT_EQ(repeatable_steps(augment()), (std::vector<bool>{true, true, false, true}));
}

TEST(Cut, WhatAsksWhetherItIsAPadVaries) {
  ProgramBuilder builder(kSample, "");
  const int valid = builder.field(kValidField), id = builder.field(kIdField);
  const int padded = (*builder.add("logical_not", Value::Object{}, std::array{valid}))[0];
  const int named = (*builder.add("add", Value::Object{{"value", 1}}, std::array{id}))[0];
  EXPECT_EQ(repeatable_steps(*builder.finish({"a", "b"}, {padded, named})), (std::vector<bool>{false, true}));
}

TEST(Cut, TheHalvesOneAfterTheOtherAreTheWhole) {
  for (const bool with_valid : {false, true}) {
    const Program whole = augment(with_valid);
    const Halves halves = cut(whole, {true, true, false, false});
    EXPECT_EQ(names_of(halves.first), (std::vector<std::string>{"decode_image", "resize"}));
    EXPECT_EQ(names_of(halves.second), (std::vector<std::string>{"random_crop", "add"}));
    EXPECT_EQ(halves.first.schema.size(), 2u) << "the resized image and the label";
    const Program again = compose(halves.first, halves.second);
    EXPECT_EQ(names_of(again), names_of(whole));
    EXPECT_TRUE(again.schema == whole.schema);
    for (size_t i = 0; i < again.steps.size(); ++i) EXPECT_EQ(again.steps[i].ordinal, whole.steps[i].ordinal);
  }
}

TEST(Cut, NothingKeptKeepsTheFieldsThatAreWanted) {
  ProgramBuilder builder(kSample, "");
  const int label = *builder.field("label");
  const int more = (*builder.add("add", Value::Object{{"value", 1}}, std::array{label}))[0];
  const Halves halves = cut(*builder.finish({"label"}, {more}), {false});
  EXPECT_TRUE(halves.first.steps.empty());
  EXPECT_EQ(halves.first.input_fields, (std::vector<int>{1}));
  EXPECT_EQ(halves.second.input_fields, (std::vector<int>{0}));
}

TEST(Cut, AllKeptLeavesAProgramThatPassesOn) {
  const Halves halves = cut(augment(), {true, true, true, true});
  EXPECT_TRUE(halves.second.steps.empty());
  EXPECT_EQ(halves.second.schema.names, (std::vector<std::string>{"image", "label"}));
}

}  // namespace
}  // namespace headrace
