#include "headrace/ops/call_context.h"

#include <gtest/gtest.h>

#include <string>

#include "headrace/ops/op.h"

namespace headrace {
namespace {

TEST(CallContext, RunTakesOnceWhatMeasureLeft) {
  Scratch scratch;
  CallContext call(scratch), other(scratch);
  EXPECT_FALSE(call.take<std::string>());
  call.leave(std::string("file"));
  EXPECT_FALSE(other.take<std::string>()) << "it belongs to one call";
  EXPECT_FALSE(call.take<int>()) << "of another type";
  EXPECT_EQ(call.take<std::string>(), "file");
  EXPECT_FALSE(call.take<std::string>());
}

TEST(CallContext, WhatNobodyTakesEndsWithTheCall) {
  const auto left = std::make_shared<int>(1);
  {
    Scratch scratch;
    CallContext call(scratch);
    call.leave(left);
    EXPECT_EQ(left.use_count(), 2);
  }
  EXPECT_EQ(left.use_count(), 1);
}

TEST(CallContext, RaggedInputsAreNullForArrays) {
  Scratch scratch;
  CallContext call(scratch);
  EXPECT_EQ(call.ragged_input(0), nullptr);
  const Tensor batch;
  const Tensor* const inputs[] = {nullptr, &batch};
  call.set_ragged_inputs(inputs);
  EXPECT_EQ(call.ragged_input(0), nullptr);
  EXPECT_EQ(call.ragged_input(1), &batch);
  EXPECT_EQ(call.ragged_input(2), nullptr);
}

}  // namespace
}  // namespace headrace
