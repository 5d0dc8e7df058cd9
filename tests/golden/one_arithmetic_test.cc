// The main job on five small images, from files to batches: one hash on every SIMD target.
#include <gtest/gtest.h>

#include "headrace/headrace.h"
#include "headrace/kernels/targets.h"
#include "tests/oracle/sha1.h"

namespace headrace {
namespace {

// Made on AVX-512, the same on AVX2, SSE4 and in scalar code.
constexpr char kExact[] = "5e6f039e9a30652d7e17c61a85551b4aba66cb66";
constexpr char kFast[] = "b96a66dec56e34167c432607c6486320d810bf0e";

constexpr char kScaled[] = "13fee02986c42b366d7bca858b0162b808dffb23";

Dataset scaled_pipeline() {
  const auto shrink = [](const Fields& sample) -> Outputs {
    Outputs out;
    for (const int size : {2, 4, 8}) {  // by way of an eighth, a quarter, a half
      const Symbol image = sample["image"].apply("decode_image", {{"scale_in_dct", true}});
      out.push_back({std::to_string(size), image.apply("resize", {{"size", Value::List{size, size}}})});
    }
    return out;
  };
  return read(HEADRACE_TEST_GOLDEN_IMAGES, "images").map(shrink).batch(2);
}

Dataset pipeline(const char* match, const char* dtype, const char* layout) {
  const auto augment = [=](const Fields& sample) -> Outputs {
    const Symbol image = sample["image"]
                             .apply("decode_image", {{"match", match}})
                             .apply("random_resized_crop", {{"size", 40}});
    const Value::List mean{0.485, 0.456, 0.406}, std{0.229, 0.224, 0.225};
    return {
        {"image",
         image.apply("random_flip")
             .apply("normalize",
                    {{"mean", mean}, {"std", std}, {"scale", 0.01}, {"dtype", dtype}, {"layout", layout}})}};
  };
  return read(HEADRACE_TEST_GOLDEN_IMAGES, "images").shuffle({.seed = 17}).map(augment).batch(2);
}

void append_epochs(const Dataset& dataset, int epochs, std::vector<uint8_t>& out) {
  LoaderOptions options;
  options.seed = 5;
  options.checkpoints = false;  // they lie in the user's folder, and change no byte
  auto loader = dataset.loader(std::move(options));
  ASSERT_TRUE(loader.ok()) << loader.status().text();
  Sample batch;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    ASSERT_TRUE((*loader)->begin().ok());
    while (true) {
      const Result<bool> more = (*loader)->next(batch);
      ASSERT_TRUE(more.ok()) << more.status().text();
      if (!*more) break;
      for (const Tensor& field : batch.fields) {
        const View view = field.view();
        const auto* bytes = view.as<uint8_t>();
        out.insert(out.end(), bytes, bytes + view.size_bytes());
      }
    }
  }
}

std::string hash_of_main_job(const char* match) {
  std::vector<uint8_t> bytes;
  for (const char* dtype : {"f32", "f16", "bf16", "u8"})
    for (const char* layout : {"CHW", "HWC"}) append_epochs(pipeline(match, dtype, layout), 3, bytes);
  EXPECT_EQ(bytes.size(), size_t{40 * 40 * 3} * 5 * 3 * 2 * (4 + 2 + 2 + 1));
  return testing::sha1_hex(bytes);
}

TEST(OneArithmetic, TheMainJobHasOneHashOnEverySimdTarget) {
  EXPECT_GE(kernels::simd_targets().size(), 2U);
  kernels::on_each_simd_target([](const std::string& target) {
    EXPECT_EQ(hash_of_main_job("exact"), kExact) << target;
    EXPECT_EQ(hash_of_main_job("fast"), kFast) << target;
  });
}

TEST(OneArithmetic, SoHasAJobScaledInTheDct) {
  kernels::on_each_simd_target([](const std::string& target) {
    std::vector<uint8_t> bytes;
    append_epochs(scaled_pipeline(), 1, bytes);
    EXPECT_EQ(testing::sha1_hex(bytes), kScaled) << target;
  });
}

}  // namespace
}  // namespace headrace
