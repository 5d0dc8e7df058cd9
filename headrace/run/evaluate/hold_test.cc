#include "headrace/run/evaluate/hold.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

// A Python function, or a built-in operator.
class NamedOp final : public AnyOp {
 public:
  enum class Kind : uint8_t { ours, with_lock, without_lock };
  explicit NamedOp(Kind kind) : kind_(kind) {}
  std::string_view name() const override { return "named"; }
  Value params() const override { return Value{Value::Object()}; }
  std::span<const std::string> bound() const override { return {}; }
  Phase phase() const override { return kind_ == Kind::ours ? Phase::cpu : Phase::python; }
  Result<std::vector<TensorSpec>> infer(std::span<const TensorSpec> in) const override {
    return std::vector<TensorSpec>(in.begin(), in.end());
  }
  Status measure(std::span<const View>, std::span<Shape>, CallContext&) const override { return {}; }
  Status run(std::span<const View>, std::span<const MutView>, CallContext&) const override { return {}; }
  std::shared_ptr<const void> hold() const override {
    return kind_ == Kind::with_lock ? std::make_shared<const int>(0) : nullptr;
  }

 private:
  Kind kind_;
};
using Kind = NamedOp::Kind;

Program program_of(std::initializer_list<Kind> kinds) {
  Program out;
  for (const Kind kind : kinds) out.steps.push_back({.op = std::make_shared<NamedOp>(kind)});
  return out;
}

TEST(HoldFor, TheLockIsHeldOverFunctionsOfAnInterpreterAlone) {
  const Program locked = program_of({Kind::with_lock}), ours = program_of({Kind::ours});
  const Program process = program_of({Kind::without_lock}), nothing = program_of({});
  const auto holds = [](std::vector<Program> programs, std::vector<Link> chain) {
    return hold_for(programs, chain) != nullptr;
  };
  EXPECT_TRUE(holds({locked}, {}));
  EXPECT_TRUE(holds({}, {FilterLink{locked}}));
  EXPECT_TRUE(holds({}, {KeyLink{locked}}));
  EXPECT_TRUE(holds({nothing}, {UnbatchLink{}, std::vector<Program>{nothing, locked}, SkipLink{}}));
  EXPECT_TRUE(holds({locked}, {FilterLink{locked}}));
  EXPECT_FALSE(holds({}, {}));
  EXPECT_FALSE(holds({nothing}, {SkipLink{}}));
  EXPECT_FALSE(holds({ours}, {FilterLink{locked}}));
  EXPECT_FALSE(holds({locked}, {FilterLink{ours}}));
  EXPECT_FALSE(holds({locked}, {std::vector<Program>{locked, ours}}));
  // Other threads may run while one waits for a process.
  EXPECT_FALSE(holds({process}, {FilterLink{locked}}));
  EXPECT_FALSE(holds({locked}, {FilterLink{process}}));
  EXPECT_FALSE(holds({program_of({Kind::with_lock, Kind::without_lock})}, {}));
}

}  // namespace
}  // namespace headrace
