#include <gtest/gtest.h>

#include "headrace/ops/op.h"

namespace headrace {
namespace {

// Records what is added; values are numbered from 1.
class Recorder : public Builder {
 public:
  Result<std::vector<int>> add(std::string_view op, const Value& params,
                               std::span<const int> inputs) override {
    lines.push_back(std::to_string(inputs[0]) + " " + std::string(op) + params.dump());
    return std::vector<int>{static_cast<int>(lines.size())};
  }
  std::vector<std::string> lines;
};

std::vector<std::string> expand(Value::Object params) {
  Recorder recorder;
  const int image = 0;
  const auto last = find_op("crop_mirror_normalize")->expand(Value(std::move(params)), recorder, {&image, 1});
  EXPECT_TRUE(last.ok()) << last.status().text();
  return recorder.lines;
}

TEST(CropMirrorNormalize, StandsForThreeOperators) {
  EXPECT_EQ(expand({{"crop", 224}, {"mirror", 0.5}, {"mean", Value::List{0.5, 0.25, 1}}, {"std", 2.0}}),
            (std::vector<std::string>{
                R"(0 center_crop{"size":[224]})", R"(1 random_flip{"p":0.5})",
                R"(2 normalize{"mean":[0.5,0.25,1.0],"std":[2.0],"dtype":"f32","layout":"CHW"})"}));
}

TEST(CropMirrorNormalize, LeavesOutWhatIsNotAskedFor) {
  EXPECT_EQ(
      expand({}),
      (std::vector<std::string>{R"(0 normalize{"mean":[0.0],"std":[1.0],"dtype":"f32","layout":"CHW"})"}));
}

}  // namespace
}  // namespace headrace
