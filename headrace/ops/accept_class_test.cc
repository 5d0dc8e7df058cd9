#include <gtest/gtest.h>

#include "headrace/ops/testing.h"

namespace headrace {
namespace {

using ::headrace::testing::call;

std::string accepted(const char* params, int64_t label) {
  const View in{DType::i64, {}, reinterpret_cast<const std::byte*>(&label)};
  return call("accept_class", params, in, in.spec());
}

TEST(AcceptClass, AClassThatComesTooRarelyIsAlwaysKeptAndOneThatIsNotWantedNever) {
  for (int seed = 0; seed < 100; ++seed) {
    const std::string params =
        R"({"target":[0.5,0.5,0],"initial":[9,1,5],"seed":)" + std::to_string(seed) + "}";
    EXPECT_EQ(accepted(params.c_str(), 1), "1 ()");
    EXPECT_EQ(accepted(params.c_str(), 2), "0 ()");
  }
}

TEST(AcceptClass, OthersAreKeptAsTheSharesSay) {
  int kept = 0;
  for (int seed = 0; seed < 9000; ++seed) {
    const std::string params = R"({"target":[1,1],"initial":[9,1],"seed":)" + std::to_string(seed) + "}";
    kept += accepted(params.c_str(), 0) == "1 ()";
  }
  EXPECT_NEAR(kept, 1000, 3.3 * 30);  // one in nine, within 3.3 standard deviations
}

TEST(AcceptClass, SharesAndClassesAreChecked) {
  struct Case {
    const char* params;
    int64_t label;
    const char* error;
  };
  for (const auto& [params, label, error] : {
           Case{R"({"target":[1,1],"initial":[1,1]})", 2, "expected a class from 0 to 1, got 2"},
           Case{R"({"target":[1,1],"initial":[1,1]})", -1, "expected a class from 0 to 1, got -1"},
           Case{R"({"target":[1,1],"initial":[1]})", 0,
                "initial must have as many classes as target, 2, got 1"},
           Case{R"({"target":[1,1],"initial":[1,0]})", 0,
                "initial must have a share above 0 for class 1, which has one in target"},
           Case{R"({"target":[1,-1],"initial":[1,1]})", 0,
                "target: shares must be at least 0, got -1.000000"},
           Case{R"({"target":[0,0],"initial":[1,1]})", 0, "target: expected a share above 0, got none"},
           Case{R"({"target":[1],"initial":[1],"seed":-1})", 0, "seed must be from 0 to 2**31 - 1, got -1"},
       })
    EXPECT_EQ(accepted(params, label), std::string("accept_class: ") + error);
  const double label = 0;
  const View in{DType::f64, {}, reinterpret_cast<const std::byte*>(&label)};
  EXPECT_EQ(call("accept_class", R"({"target":[1],"initial":[1]})", in, in.spec()),
            "accept_class: expected a class (one integer), got float64 ()");
}

}  // namespace
}  // namespace headrace
